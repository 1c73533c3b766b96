// SPDX-License-Identifier: Apache-2.0
// The program of the host that makes an image which a kernel boots with. It asks packaging/initramfs/ what to leave out.
// None makes a unified image here: that is signed by whom the firmware trusts, and what makes it writes over the one that boots.
#pragma once

#include "daemon/core/step.hpp"
#include "kmod/boot/images.hpp"

#include <cstdint>
#include <optional>

namespace gpuhost::kmod {

struct ImageTool {
    std::vector<std::string> argv; ///< its path first, as the root has it
    std::string makes;             ///< the image, or a file that is to take its place
};
[[nodiscard]] std::optional<ImageTool> tool_for(const base::Root& root, const BootImage& image,
                                                const std::string& kernel);

inline constexpr const char* or_ignore_images =
    "or leave images as they are: Initramfs=ignore in [Driver] of gpuhostd.conf";

/// What keeps one of that size from being made anew.
[[nodiscard]] std::optional<base::Error> obstacle(const base::Root& root, const BootImage& image,
                                                  const std::string& kernel, std::uint64_t size);

/// What the last tool said. Not among the logs of builds: that directory is another user's.
[[nodiscard]] std::string image_log(const std::string& kernel);
[[nodiscard]] base::Result<void> run_tool(const core::StepContext& context, const std::string& kernel,
                                          const ImageTool& tool, std::chrono::milliseconds deadline);

} // namespace gpuhost::kmod
