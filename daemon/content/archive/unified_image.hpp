// SPDX-License-Identifier: Apache-2.0
// Reads a unified kernel image (https://uapi-group.org/specifications/specs/unified_kernel_image): one UEFI
// program, whose sections are a kernel, its initramfs images, and descriptions. With several profiles it may
// have a section for each.
#pragma once

#include "daemon/content/archive/initramfs.hpp"

namespace gpuhost::content {

inline constexpr std::size_t most_profiles = 16;

/// Returns the paths of modules that bind a GPU in all its initramfs images, see gpu_modules_of_initramfs().
/// Empty if it has no image, or is for another kernel according to its section .uname.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_unified_image(int fd, const std::string& kernel, const std::string& what,
                             const InitramfsLimits& limits = {});

} // namespace gpuhost::content
