// SPDX-License-Identifier: Apache-2.0
// Runs the host's program that creates initramfs images: update-initramfs or dracut. It calls the hooks of
// gpuhost (packaging/initramfs/), which exclude GPU drivers from the image. Unified images are not created
// here. They must be signed with a key that the firmware trusts, and the tool would overwrite the image that
// boots.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/boot/initramfs_images.hpp"

#include <cstdint>
#include <optional>

namespace gpuhost::kmod {

struct ImageTool {
    std::vector<std::string> argv; ///< the command; the program's path is below the root
    /// Path of the file that the command writes: the image, or a file that the caller renames to it.
    std::string makes;
};
/// Returns the command that creates this image; nothing for a unified image, or if no tool is installed.
[[nodiscard]] std::optional<ImageTool> tool_for(const base::Root& root, const BootImage& image,
                                                const std::string& kernel);

/// The end of hints about an image.
inline constexpr const char* or_ignore_images =
    "or leave boot images unchanged: set Initramfs=ignore in [Driver] of gpuhostd.conf.";

/// Returns why the image cannot be created again: it is unified, no tool is installed, or less than `size`
/// bytes (the image's size) are free. Returns nothing if it can.
[[nodiscard]] std::optional<base::Error> obstacle(const base::Root& root, const BootImage& image,
                                                  const std::string& kernel, std::uint64_t size);

/// Returns the path of the log of the tool's last run for this kernel. The log is not in the directory of
/// build logs, because another user owns that directory.
[[nodiscard]] std::string image_log(const std::string& kernel);
/// Runs the command and writes its output to image_log(). Fails with Timeout after `deadline`, and with
/// Failed if the exit status is not 0.
[[nodiscard]] base::Result<void> run_tool(const core::StepContext& context, const std::string& kernel,
                                          const ImageTool& tool, std::chrono::milliseconds deadline);

} // namespace gpuhost::kmod
