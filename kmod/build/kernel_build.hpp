// SPDX-License-Identifier: Apache-2.0
// Compiles one version's modules for one kernel in the staging directory.
#pragma once

#include "daemon/base/json.hpp"
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
    std::string package; ///< path of the sealed source
    std::string sha256;
    std::string directory; ///< in that package
};

/// Returns a request for each kernel from build.compile's args (build.hpp).
[[nodiscard]] base::Result<std::vector<BuildRequest>> build_requests(const base::Json& args);

/// Called by the thread that builds.
using BuildProgress = std::function<void(double fraction, std::string_view text)>;

/// The state that builds in several threads share.
struct BuildPlace {
    const base::Root& root;
    const base::Root& staging; ///< each build has a scratch directory here, removed at its end
    const JobServer& jobs;
    std::mutex& staging_modules; ///< only one set of modules is staged at a time
};

/// Builds and stages the modules. Returns the path of the log.
[[nodiscard]] base::Result<std::string> build_for_kernel(const BuildPlace& place, const BuildRequest& request,
                                                         std::chrono::milliseconds deadline,
                                                         const BuildProgress& progress);

struct SourceTree {
    std::size_t sources = 0; ///< .c files, to compute the progress
    std::uint64_t bytes = 0;
};

/// Unpacks `directory` of the package `fd` into `place` of `staging`: plain files, directories and links that
/// stay inside.
[[nodiscard]] base::Result<SourceTree> unpack_source(int fd, const std::string& package,
                                                     const std::string& directory, const base::Root& staging,
                                                     const std::string& place);

} // namespace gpuhost::kmod
