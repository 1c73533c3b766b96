// SPDX-License-Identifier: Apache-2.0
// A unified kernel image (https://uapi-group.org/specifications/specs/unified_kernel_image): one program of UEFI, whose
// sections are a kernel, what it boots with, and words about these. With several profiles it may have a section for each.
#pragma once

#include "daemon/content/archive/initramfs.hpp"

namespace gpuhost::content {

inline constexpr std::size_t most_profiles = 16;

/// Paths of modules that take a GPU in all initramfs images of it, as gpu_modules_of_initramfs() has them; none where it has
/// no image, or is another kernel's by its section .uname.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_unified_image(int fd, const std::string& kernel, const std::string& what,
                             const InitramfsLimits& limits = {});

} // namespace gpuhost::content
