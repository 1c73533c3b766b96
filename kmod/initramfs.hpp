// SPDX-License-Identifier: Apache-2.0
// Images that kernels boot with, and whether they are without the driver of a GPU, which would be loaded from them whatever
// is selected. The daemon reads none: it compares a file's size, time and inode with those that a worker recorded when it
// had read it.
#pragma once

#include "kmod/driver_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace gpuhost::kmod {

inline constexpr std::string_view initramfs_directory =
    "/var/lib/gpuhost/driver/initramfs"; ///< a record and a log a kernel

/// Below /boot, as initramfs-tools and dracut name it. Nothing: the kernel boots without one, or from somewhere else.
[[nodiscard]] std::optional<std::string> initramfs_of(const base::Root& root, const std::string& kernel);

/// Was the image recorded as it is now?
[[nodiscard]] bool is_known_clean(const base::Root& root, const std::string& kernel,
                                  const std::string& image);
[[nodiscard]] base::Result<void> record_clean(const base::Root& root, const std::string& kernel,
                                              const std::string& image, const struct stat& st);

/// By kernel, the images that are not known to be clean.
[[nodiscard]] std::map<std::string, std::string>
unknown_initramfs(const base::Root& root, const std::vector<InstalledKernel>& kernels);

/// initramfs.clear, where it is not known that there is nothing to clear. It comes before the selection changes: without a
/// driver in it an image boots whichever is selected, so that a transaction that is cut off anywhere boots one.
[[nodiscard]] std::vector<core::Step> initramfs_steps(const DriverSettings& settings,
                                                      const Observed& observed, const std::string& kernel);

} // namespace gpuhost::kmod
