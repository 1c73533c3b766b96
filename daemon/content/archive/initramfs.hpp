// SPDX-License-Identifier: Apache-2.0
// An initramfs image as the kernel takes it (Documentation/driver-api/early-userspace/buffer-format.rst): cpio archives of
// the format "newc", one behind the other with zeros between them; those in front plain, as microcode is, and behind them
// one that is compressed. Of members the names alone are looked at.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct InitramfsLimits {
    std::uint64_t image_bytes = std::uint64_t{2} << 30U;
    std::uint64_t unpacked_bytes = std::uint64_t{4} << 30U; ///< of what is compressed
    std::uint64_t members = 500'000;
};

/// Is it, by its path, a kernel module that takes an NVIDIA GPU: one of NVIDIA's driver, by whatever name a distribution
/// gives it ("nvidia-current-drm.ko.xz"), or nouveau? Modules of the kernel's own that are only called after NVIDIA are not.
[[nodiscard]] bool takes_gpu(std::string_view path);

/// Paths of these in an image, without a "/" in front. Not empty: the kernel has one of them before the root is mounted.
/// BadContent: damaged, or over a limit. Unsupported: compressed by what can't be read, as lzo.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_initramfs(FilePart image, const std::string& what, const InitramfsLimits& limits = {});

} // namespace gpuhost::content
