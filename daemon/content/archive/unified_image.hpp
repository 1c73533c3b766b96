// SPDX-License-Identifier: Apache-2.0
// Reads a unified kernel image (https://uapi-group.org/specifications/specs/unified_kernel_image): a UEFI
// program whose sections are a kernel, an initramfs image and descriptions. In an image with several
// profiles, each profile may have such sections of its own.
#pragma once

#include "daemon/content/archive/initramfs.hpp"

namespace gpuhost::content {

inline constexpr std::size_t most_profiles = 16;

/// Returns the paths of modules that bind to a GPU, from all initramfs images in the file; see
/// gpu_modules_of_initramfs(). Empty if the file has no initramfs image, or if its section .uname names
/// another kernel.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_unified_image(int fd, const std::string& kernel, const std::string& what,
                             const InitramfsLimits& limits = {});

} // namespace gpuhost::content
