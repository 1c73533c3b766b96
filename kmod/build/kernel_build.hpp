// SPDX-License-Identifier: Apache-2.0
// Compiles the modules of one driver version for one kernel, in the staging directory.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "kmod/build/job_server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct BuildRequest {
    std::string version;
    std::string kernel;
    std::string package; ///< path of the package with the source in the store
    std::string sha256;
    std::string directory; ///< directory of the source in that package
};

/// Returns one request for each kernel in the args of build.compile (build.hpp). Fails with InvalidArgument
/// if they are invalid.
[[nodiscard]] base::Result<std::vector<BuildRequest>> build_requests(const base::Json& args);

/// Reports the progress of the build for one kernel, on the thread that builds. `fraction` is 0 to 1.
using BuildProgress = std::function<void(double fraction, std::string_view text)>;

/// The objects that builds in several threads share.
struct BuildPlace {
    const base::Root& root;
    const base::Root& staging; ///< each build has a scratch directory here, removed at its end
    const JobServer& jobs;
    std::mutex& staging_modules; ///< locked while modules are staged: only one set at a time
};

/// Builds the modules and writes their set to the staging directory. Returns the path of the log. Fails with
/// Timeout if make does not end within `deadline`.
[[nodiscard]] base::Result<std::string> build_for_kernel(const BuildPlace& place, const BuildRequest& request,
                                                         std::chrono::milliseconds deadline,
                                                         const BuildProgress& progress);

struct SourceTree {
    std::size_t sources = 0; ///< number of .c files, from which the progress is estimated
    std::uint64_t bytes = 0; ///< sum of the file sizes
};

/// Unpacks the source: `directory` of the package in the open file `fd`, into `place` below `staging`.
/// Accepts plain files, directories, and symbolic links that lead to a path inside of `directory`. Fails with
/// BadContent or Unsupported for others.
[[nodiscard]] base::Result<SourceTree> unpack_source(int fd, const std::string& package,
                                                     const std::string& directory, const base::Root& staging,
                                                     const std::string& place);

} // namespace gpuhost::kmod
