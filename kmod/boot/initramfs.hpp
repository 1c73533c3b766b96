// SPDX-License-Identifier: Apache-2.0
// Tells whether the images with which a kernel boots are free of GPU drivers. A driver in an image would be
// loaded regardless of the selection. The daemon does not read images. It compares a file's size, time and
// inode with those that a worker recorded after it read the image. FAT assigns new inode numbers at each
// mount, so images there are read again.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/boot/initramfs_images.hpp"
#include "kmod/driver_settings.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace gpuhost::kmod {

struct InstalledKernel {
    std::string release;
    /// Headers to build against are installed. The preflight of a build checks that they are complete.
    bool headers = false;
};

/// For each kernel a record of its images and a log.
inline constexpr std::string_view initramfs_directory = "/var/lib/gpuhost/driver/initramfs";

/// Returns whether the image is unchanged since it was recorded as clean.
[[nodiscard]] bool is_known_clean(const base::Root& root, const std::string& kernel,
                                  const std::string& image);
[[nodiscard]] base::Result<void> record_clean(const base::Root& root, const std::string& kernel,
                                              const std::string& image, const struct stat& st);

/// Returns for each kernel its first image that is not known to be clean.
[[nodiscard]] std::map<std::string, std::string>
unknown_initramfs(const base::Root& root, const std::vector<InstalledKernel>& kernels);

/// Returns initramfs.clear for all images of the kernel, unless they are known to be clean, or Initramfs= is
/// set to ignore them. The step runs before the selection changes. An image without a driver boots any
/// selection, so an interrupted transaction always leaves a bootable driver.
[[nodiscard]] std::vector<core::Step> initramfs_steps(const DriverSettings& settings,
                                                      const std::map<std::string, std::string>& unknown,
                                                      const std::string& kernel);

} // namespace gpuhost::kmod
