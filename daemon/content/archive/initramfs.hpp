// SPDX-License-Identifier: Apache-2.0
// Reads an initramfs image as the kernel does (Documentation/driver-api/early-userspace/buffer-format.rst).
// An image is a sequence of cpio archives in the format "newc" with zeros between them. The first ones are
// uncompressed, such as microcode; a compressed one may follow. Only the names of the members are used.
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

/// Returns true if `path`, in an initramfs, is a kernel module that binds to NVIDIA GPUs. These are nouveau
/// and the modules of NVIDIA's driver, also with a name that a distribution gives them
/// ("nvidia-current-drm.ko.xz"). The kernel's own modules with NVIDIA in their name do not count.
[[nodiscard]] bool claims_gpu(std::string_view path);

/// Returns the paths in an image for which claims_gpu() is true, without a leading "/". The kernel can load
/// these modules before it mounts the root file system. Fails with BadContent if the image is damaged or over
/// a limit, and with Unsupported if its compression cannot be read, such as lzo.
[[nodiscard]] base::Result<std::vector<std::string>>
gpu_modules_of_initramfs(FilePart image, const std::string& what, const InitramfsLimits& limits = {});

} // namespace gpuhost::content
