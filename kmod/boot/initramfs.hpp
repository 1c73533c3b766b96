// SPDX-License-Identifier: Apache-2.0
// Records which initramfs images are known to be clean: without GPU drivers. A driver in an image would be
// loaded at boot, whatever driver is selected. The daemon does not read images. A worker reads an image and
// records the file's size, time and inode; the daemon compares these. FAT assigns new inode numbers at each
// mount, so images there are read again after a boot.
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
    /// Headers to build against are installed. `build_problems` has what they lack.
    bool headers = false;
    std::vector<core::Problem> build_problems{}; ///< build_problems() in kmod/module/headers.hpp
};

/// The directory that contains, for each kernel, a file with the records of its images, and a log.
inline constexpr std::string_view initramfs_directory = "/var/lib/gpuhost/driver/initramfs";

/// Returns whether the image file is recorded as clean and unchanged since then.
[[nodiscard]] bool is_known_clean(const base::Root& root, const std::string& kernel,
                                  const std::string& image);
/// Records an image as clean. `st` is the file's state when it was read.
[[nodiscard]] base::Result<void> record_clean(const base::Root& root, const std::string& kernel,
                                              const std::string& image, const struct stat& st);

/// Returns the path of the first image that is not known to be clean, by kernel release. A kernel without
/// such an image has no entry.
[[nodiscard]] std::map<std::string, std::string>
unknown_initramfs(const base::Root& root, const std::vector<InstalledKernel>& kernels);

/// Returns the step initramfs.clear for the images of the kernel. Returns no step if all are known to be
/// clean (`unknown` has no entry for the kernel), or with Initramfs=ignore. The step runs before the
/// selection changes. A kernel whose image contains no driver boots with any selected driver, so an
/// interrupted transaction leaves a host that boots.
[[nodiscard]] std::vector<core::Step> initramfs_steps(const DriverSettings& settings,
                                                      const std::map<std::string, std::string>& unknown,
                                                      const std::string& kernel);

} // namespace gpuhost::kmod
