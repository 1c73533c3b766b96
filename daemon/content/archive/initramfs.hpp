// SPDX-License-Identifier: Apache-2.0
// Reads an initramfs image as the kernel does (Documentation/driver-api/early-userspace/buffer-format.rst).
// It is a sequence of cpio archives in the format "newc" with zeros between them. The first ones are
// uncompressed, such as microcode; a compressed one may follow. Only the members' names are read.
#pragma once

#include "daemon/content/archive/archive.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct InitramfsLimits {
    std::uint64_t image_bytes = std::uint64_t{2} << 30U;
    std::uint64_t unpacked_bytes = std::uint64_t{4} << 30U; ///< of the compressed part
    std::uint64_t members = 500'000;
};

/// Returns whether the path is that of a kernel module that binds an NVIDIA GPU. Such a module is one of
/// NVIDIA's driver, under any name that a distribution gives it ("nvidia-current-drm.ko.xz"), or nouveau. The
/// kernel's own modules that are named after NVIDIA do not count.
[[nodiscard]] bool claims_gpu(std::string_view path);

/// Returns the paths of such modules in an image, without a leading "/". If there are any, the kernel has
/// them before the root is mounted. Fails with BadContent if the image is damaged or over a limit, and with
/// Unsupported if its compression cannot be read, such as lzo.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_initramfs(FilePart image, const std::string& what, const InitramfsLimits& limits = {});

} // namespace gpuhost::content
