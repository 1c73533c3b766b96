// SPDX-License-Identifier: Apache-2.0
// .manifest of NVIDIA's .run file: which file in it is what, as nvidia-installer reads it (github.com/NVIDIA/nvidia-installer,
// install-from-cwd.c and manifest.c): eight lines about the driver, of which the second is its version, then a line for each
// file, with a name, an octal mode, a type, and what goes with the type. An empty line ends it.
#pragma once

#include "daemon/base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

inline constexpr std::size_t run_manifest_limit = std::size_t{4} << 20U; ///< real ones have some 60 KiB

struct RunFile {
    std::string type;   ///< "CUDA_LIB"
    std::string target; ///< of a link, which is not in the archive
    bool compat32 = false;
};

struct RunManifest {
    std::string version;
    std::map<std::string, std::vector<RunFile>, std::less<>>
        files; ///< by name; a directory may have links of one name
};

/// Strict about what it uses, and no error about types that it doesn't know: newer drivers have more of them.
[[nodiscard]] base::Result<RunManifest> parse_run_manifest(std::string_view text, std::string_view what);

/// Where a package has this file (usr/lib64, usr/bin, lib/firmware/nvidia/VERSION, usr/src/nvidia[-open]-VERSION), so that
/// it gets the same place as one's; empty for what a GPU host has no use for: X11, 32 bits, the installer itself, what is
/// not NVIDIA's but every distribution's (libGL, libOpenCL).
[[nodiscard]] std::string installed_path(std::string_view name, const RunFile& file,
                                         std::string_view version);

} // namespace gpuhost::content
