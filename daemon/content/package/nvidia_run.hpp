// SPDX-License-Identifier: Apache-2.0
// Reads NVIDIA's .run file like a package. The .manifest in the file gives the type of each packed file. The
// path that a package would give to a file follows from its type. Nothing in the .run file is executed.
#pragma once

#include "daemon/content/archive/archive.hpp"
#include "daemon/content/package/makeself.hpp"
#include "daemon/content/package/run_manifest.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuhost::content {

struct RunInfo {
    std::string package;      ///< "NVIDIA-Linux-x86_64"
    std::string version;      ///< "550.163.01"
    std::string architecture; ///< "x86_64"
};

/// A .run file. After open(), next() returns its first file.
class NvidiaRun {
  public:
    /// Reads only the header, and returns what the file declares.
    [[nodiscard]] static base::Result<RunInfo> look(int fd, const std::string& what);
    /// Checks the sums, and reads the archive up to its .manifest, which may be anywhere in the archive.
    /// Together with the calls of next(), the whole file is therefore read up to three times and unpacked
    /// twice.
    [[nodiscard]] static base::Result<NvidiaRun> open(int fd, const std::string& what);

    [[nodiscard]] const RunInfo& info() const { return info_; }
    /// Returns the next file like ArchiveReader::next(), with the path that a package would give it. A file
    /// without such a path gets "run/" before its path in the archive. The links that only the .manifest
    /// lists are last; they have no content.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();
    /// Returns the reader that has the content of the current file.
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    NvidiaRun(RunInfo info, RunManifest manifest, ArchiveReader data);

    RunInfo info_;
    RunManifest manifest_;
    ArchiveReader data_;
    bool ended_ = false; ///< the archive has ended; data_.next() must not be called again
    /// Path and target of the links that next() has not returned yet, in reverse order.
    std::vector<std::pair<std::string, std::string>> links_;
};

} // namespace gpuhost::content
