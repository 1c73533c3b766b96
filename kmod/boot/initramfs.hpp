// SPDX-License-Identifier: Apache-2.0
// Whether the images that a kernel boots with are without the driver of a GPU, which would be loaded from them whatever is
// selected. The daemon reads none: it compares a file's size, time and inode with those that a worker recorded when it
// had read it. FAT gives inodes other numbers each time it is mounted: what lies there is read again then.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/boot/images.hpp"
#include "kmod/driver_settings.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace gpuhost::kmod {

struct InstalledKernel {
    std::string release;
    bool headers =
        false; ///< there is something to build against; whether it is whole a build's preflight says
};

inline constexpr std::string_view initramfs_directory =
    "/var/lib/gpuhost/driver/initramfs"; ///< a record of its images and a log a kernel

/// Was the image recorded as it is now?
[[nodiscard]] bool is_known_clean(const base::Root& root, const std::string& kernel,
                                  const std::string& image);
[[nodiscard]] base::Result<void> record_clean(const base::Root& root, const std::string& kernel,
                                              const std::string& image, const struct stat& st);

/// By kernel, the first image that is not known to be clean.
[[nodiscard]] std::map<std::string, std::string>
unknown_initramfs(const base::Root& root, const std::vector<InstalledKernel>& kernels);

/// initramfs.clear, where it is not known that there is nothing to clear: for all images of the kernel. It comes before the selection changes: without a
/// driver in it an image boots whichever is selected, so that a transaction that is cut off anywhere boots one.
[[nodiscard]] std::vector<core::Step> initramfs_steps(const DriverSettings& settings,
                                                      const std::map<std::string, std::string>& unknown,
                                                      const std::string& kernel);

} // namespace gpuhost::kmod
