// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

/// Returns the version in the names of package files, such as "libcuda1_550.163.01-2_amd64.deb" or
/// "NVIDIA-Linux-x86_64-550.163.01.run". Returns an empty string if no name contains a version, or if two
/// names contain different ones. `is_version` decides whether a word is a version. The names may be wrong:
/// only a worker that reads the files can verify the version.
[[nodiscard]] std::string version_in_names(const std::vector<std::string>& names,
                                           bool (*is_version)(std::string_view text));

} // namespace gpuhost::core
