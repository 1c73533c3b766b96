// SPDX-License-Identifier: Apache-2.0
// One version's modules for one kernel, compiled in the staging directory.
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

/// Of build.compile's args (build.hpp), one for each kernel.
[[nodiscard]] base::Result<std::vector<BuildRequest>> build_requests(const base::Json& args);

/// Called by the thread that builds.
using BuildProgress = std::function<void(double fraction, std::string_view text)>;

/// What builds of several threads share.
struct BuildPlace {
    const base::Root& root;
    const base::Root& staging; ///< where each has a scratch directory of its own, which goes when it ends
    const JobServer& jobs;
    std::mutex& staging_modules; ///< one set of modules is staged at a time
};

/// The path of its log.
[[nodiscard]] base::Result<std::string> build_for_kernel(const BuildPlace& place, const BuildRequest& request,
                                                         std::chrono::milliseconds deadline,
                                                         const BuildProgress& progress);

struct SourceTree {
    std::size_t sources = 0; ///< .c files, to tell how far a build is
    std::uint64_t bytes = 0;
};

/// Unpacks `directory` of the package `fd` into `place` of `staging`: plain files, directories and links
/// inside.
[[nodiscard]] base::Result<SourceTree> unpack_source(int fd, const std::string& package,
                                                     const std::string& directory, const base::Root& staging,
                                                     const std::string& place);

} // namespace gpuhost::kmod
