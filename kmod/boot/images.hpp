// SPDX-License-Identifier: Apache-2.0
// Which images a kernel boots with, by their names alone, in all places where programs of distributions put them: /boot, the
// directories of the Boot Loader Specification (kernel-install(8)), and unified kernel images.
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

inline constexpr const char* unfinished_image = ".gpuhost"; ///< ending of one that is being made

/// What systemd mounts when somebody looks (autofs). That takes as long as its disk, so the daemon leaves it.
enum class OnDemand { Leave, Mount };

/// kernel-install's $BOOT, those that there are. One directory by two names is there once.
[[nodiscard]] std::vector<std::string> boot_directories(const base::Root& root,
                                                        OnDemand on_demand = OnDemand::Mount);

/// Those that another one is copied from come first. None: the kernel boots without one, or from somewhere else. Other systems on
/// the same disk have, as a rule, tokens of their own; a unified image's name may have any.
[[nodiscard]] std::vector<BootImage> boot_images_of(const base::Root& root, const std::string& kernel,
                                                    OnDemand on_demand = OnDemand::Mount);

/// Paths in it of modules that take a GPU, where it is this kernel's.
[[nodiscard]] base::Result<std::vector<std::string>> gpu_modules_of(const BootImage& image, int fd,
                                                                    const std::string& kernel);

/// What somebody may type to have it made anew.
[[nodiscard]] std::string command_to_make(const base::Root& root, const BootImage& image,
                                          const std::string& kernel);

} // namespace gpuhost::kmod
