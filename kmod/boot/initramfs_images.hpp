// SPDX-License-Identifier: Apache-2.0
// Finds the initramfs images with which a kernel boots, by their paths alone. Searches all places where
// distributions store them: /boot, the directories of the Boot Loader Specification (kernel-install(8)), and
// unified kernel images.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct BootImage {
    enum class Kind {
        /// /boot/initrd.img-KERNEL or /boot/initramfs-KERNEL.img, as initramfs-tools and dracut name it.
        Initramfs,
        Entry,   ///< a file in $BOOT/TOKEN/KERNEL, as kernel-install names it
        Unified, ///< $BOOT/EFI/Linux/TOKEN-KERNEL.efi
    };
    Kind kind = Kind::Initramfs;
    std::string path;

    bool operator==(const BootImage&) const = default;
};

inline constexpr const char* unfinished_image = ".gpuhost"; ///< suffix of an image file while it is created

/// Whether a search may trigger the mount of a file system that systemd mounts on first access (autofs). A
/// mount may last long, so the daemon uses Leave: it skips such directories while they are not mounted.
enum class OnDemand { Leave, Mount };

/// Returns the directories that may be $BOOT of kernel-install and exist: /boot, /efi, /boot/efi. A directory
/// with two of these names is listed once.
[[nodiscard]] std::vector<std::string> boot_directories(const base::Root& root,
                                                        OnDemand on_demand = OnDemand::Mount);

/// Returns the images of a kernel. An image is listed before the copies that are made from it. Empty: the
/// kernel boots without an image, or from a place that is not searched. Entry tokens distinguish this system
/// from others on the same disk. Unified images are found with any token.
[[nodiscard]] std::vector<BootImage> boot_images_of(const base::Root& root, const std::string& kernel,
                                                    OnDemand on_demand = OnDemand::Mount);

/// Returns the paths of GPU driver modules in an image. `fd` is the open image. A unified image for another
/// kernel is not examined: the result is empty.
[[nodiscard]] base::Result<std::vector<std::string>> gpu_modules_of(const BootImage& image, int fd,
                                                                    const std::string& kernel);

/// Returns the command with which an administrator creates the image again, for hints.
[[nodiscard]] std::string command_to_make(const base::Root& root, const BootImage& image,
                                          const std::string& kernel);

} // namespace gpuhost::kmod
