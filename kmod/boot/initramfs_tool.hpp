// SPDX-License-Identifier: Apache-2.0
// The host's program that creates an image with which a kernel boots. It calls the hooks in
// packaging/initramfs/ to exclude modules.
// Unified images are not created here: they are signed with a key that the firmware trusts, and the tool
// overwrites the image that boots.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/boot/initramfs_images.hpp"

#include <cstdint>
#include <optional>

namespace gpuhost::kmod {

struct ImageTool {
    std::vector<std::string> argv; ///< the program's path below the root first
    std::string makes;             ///< the image, or a file that will replace it
};
[[nodiscard]] std::optional<ImageTool> tool_for(const base::Root& root, const BootImage& image,
                                                const std::string& kernel);

inline constexpr const char* or_ignore_images =
    "or leave boot images unchanged: set Initramfs=ignore in [Driver] of gpuhostd.conf.";

/// Returns the reason why an image of `size` bytes cannot be created again, if any.
[[nodiscard]] std::optional<base::Error> obstacle(const base::Root& root, const BootImage& image,
                                                  const std::string& kernel, std::uint64_t size);

/// Returns the path of the log of the tool's last run. Not in the directory of build logs, which another user
/// owns.
[[nodiscard]] std::string image_log(const std::string& kernel);
[[nodiscard]] base::Result<void> run_tool(const core::StepContext& context, const std::string& kernel,
                                          const ImageTool& tool, std::chrono::milliseconds deadline);

} // namespace gpuhost::kmod
