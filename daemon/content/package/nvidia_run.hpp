// SPDX-License-Identifier: Apache-2.0
// NVIDIA's .run file as a package: its files where a package has them, by its .manifest. Nothing in it is executed.
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

/// Standing at its first file once it is open.
class NvidiaRun {
  public:
    /// Looks at the header and no further: what a file says of itself.
    [[nodiscard]] static base::Result<RunInfo> look(int fd, const std::string& what);
    /// Checks its sums, and reads it up to its .manifest, which may stand anywhere in it: so all of it is read up to three
    /// times, and unpacked twice.
    [[nodiscard]] static base::Result<NvidiaRun> open(int fd, const std::string& what);

    [[nodiscard]] const RunInfo& info() const { return info_; }
    /// As ArchiveReader::next, with the path that a package has. What has none there keeps its own below "run/". The links
    /// of the .manifest come last, without content.
    [[nodiscard]] base::Result<std::optional<ArchiveEntry>> next();
    [[nodiscard]] ArchiveReader& data() { return data_; }

  private:
    NvidiaRun(RunInfo info, RunManifest manifest, ArchiveReader data);

    RunInfo info_;
    RunManifest manifest_;
    ArchiveReader data_;
    bool ended_ = false; ///< the archive; it can't be asked again
    std::vector<std::pair<std::string, std::string>>
        links_; ///< path and target, still to come, the last one first
};

} // namespace gpuhost::content
