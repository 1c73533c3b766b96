// SPDX-License-Identifier: Apache-2.0
// Parses the .manifest of NVIDIA's .run file, which gives the type of each file. The format is that of
// nvidia-installer (github.com/NVIDIA/nvidia-installer, install-from-cwd.c and manifest.c). Eight lines
// describe the driver; the second is its version. Each further line describes a file: a name, an octal mode,
// a type, and details that depend on the type. An empty line ends the list.
#pragma once

#include "daemon/base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

inline constexpr std::size_t run_manifest_limit = std::size_t{4} << 20U; ///< real ones have about 60 KiB

struct RunFile {
    std::string type;   ///< "CUDA_LIB"
    std::string target; ///< target of a link, which is not in the archive; else empty
    bool compat32 = false;
};

struct RunManifest {
    std::string version;
    /// Files by name; several links may have the same name.
    std::map<std::string, std::vector<RunFile>, std::less<>> files;
};

/// Parses a .manifest. Fails with BadContent for an invalid name, mode or type of a file, or an invalid
/// version. Unknown types are accepted: newer drivers have more of them.
[[nodiscard]] base::Result<RunManifest> parse_run_manifest(std::string_view text, std::string_view what);

/// Returns the path at which a package installs this file: in usr/lib64, usr/bin,
/// usr/lib/firmware/nvidia/VERSION, usr/src/nvidia[-open]-VERSION or usr/share. The files of a .run are then
/// stored in the same way as those of a package. Empty for files that a GPU host does not need: X11, 32 bits,
/// the installer itself, and what every distribution has (libGL, libOpenCL).
[[nodiscard]] std::string installed_path(std::string_view name, const RunFile& file,
                                         std::string_view version);

} // namespace gpuhost::content
