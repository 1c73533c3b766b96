// SPDX-License-Identifier: Apache-2.0
// Finds the images with which a kernel boots, by name alone. Searches all places where distributions put
// them: /boot, the directories of the Boot Loader Specification (kernel-install(8)), and unified kernel
// images.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct BootImage {
    enum class Kind {
        Initramfs, ///< below /boot by the kernel's release, as initramfs-tools and dracut name it
        Entry,     ///< in the kernel's own directory $BOOT/TOKEN/KERNEL
        Unified,   ///< $BOOT/EFI/Linux/TOKEN-KERNEL.efi
    };
    Kind kind = Kind::Initramfs;
    std::string path;

    bool operator==(const BootImage&) const = default;
};

inline constexpr const char* unfinished_image = ".gpuhost"; ///< suffix of an image that is being created

/// Selects whether to mount file systems that systemd mounts on first access (autofs). Mounting takes as long
/// as its disk, so the daemon does not.
enum class OnDemand { Leave, Mount };

/// Returns the existing candidates for kernel-install's $BOOT. A directory with two names is listed once.
[[nodiscard]] std::vector<std::string> boot_directories(const base::Root& root,
                                                        OnDemand on_demand = OnDemand::Mount);

/// Returns the images of a kernel, each before the copies made from it. Empty: the kernel boots without an
/// image, or from another place. Other systems on the same disk usually have entry tokens of their own; the
/// name of a unified image may have any token.
[[nodiscard]] std::vector<BootImage> boot_images_of(const base::Root& root, const std::string& kernel,
                                                    OnDemand on_demand = OnDemand::Mount);

/// Returns the paths of GPU driver modules in the image, if it belongs to this kernel.
[[nodiscard]] base::Result<std::vector<std::string>> gpu_modules_of(const BootImage& image, int fd,
                                                                    const std::string& kernel);

/// Returns the command with which an administrator creates the image again.
[[nodiscard]] std::string command_to_make(const base::Root& root, const BootImage& image,
                                          const std::string& kernel);

} // namespace gpuhost::kmod
