// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::core {

/// Returns the only version in the names of package files; empty if there is none, or if there are several:
/// "libcuda1_550.163.01-2_amd64.deb", "NVIDIA-Linux-x86_64-550.163.01.run". Only a worker that reads the
/// files can verify it.
[[nodiscard]] std::string version_in_names(const std::vector<std::string>& names,
                                           bool (*is_version)(std::string_view text));

} // namespace gpuhost::core
