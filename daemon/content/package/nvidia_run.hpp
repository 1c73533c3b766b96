// SPDX-License-Identifier: Apache-2.0
// Presents NVIDIA's .run file as a package: its .manifest maps its files to the paths of a package. Nothing
// in it is executed.
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

/// After open() the reader is at the first file.
class NvidiaRun {
  public:
    /// Reads only the header and returns what the file declares.
    [[nodiscard]] static base::Result<RunInfo> look(int fd, const std::string& what);
    /// Checks the sums, and reads the file up to its .manifest, which may be anywhere. All of it is therefore
    /// read up to three times, and unpacked twice.
    [[nodiscard]] static base::Result<NvidiaRun> open(int fd, const std::string& what);

    [[nodiscard]] const RunInfo& info() const { return info_; }
    /// Returns the next file like ArchiveReader::next, with the path of a package. A file without such a path
    /// keeps its own below "run/". The links of the .manifest are last, without content.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    NvidiaRun(RunInfo info, RunManifest manifest, ArchiveReader data);

    RunInfo info_;
    RunManifest manifest_;
    ArchiveReader data_;
    bool ended_ = false; ///< the archive has ended and must not be read again
    /// Path and target of the links that next() has still to return, in reverse order.
    std::vector<std::pair<std::string, std::string>> links_;
};

} // namespace gpuhost::content
