// SPDX-License-Identifier: Apache-2.0
// What keeps a GPU's modules from being loaded: modprobe.d(5) and the kernel's command line, which others write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// A rule in modprobe.d(5) that keeps a module away, or loads something in its place.
struct ModprobeRule {
    std::string file;
    std::string command; ///< "install" or "blacklist"
    std::string module;
    friend bool operator==(const ModprobeRule&, const ModprobeRule&) = default;
};
/// Those of a file that are about NVIDIA's modules or nouveau.
[[nodiscard]] std::vector<ModprobeRule> modprobe_rules(std::string_view text, const std::string& file);

/// Does a kernel's command line keep nouveau away?
[[nodiscard]] bool command_line_blocks_nouveau(std::string_view line);

} // namespace gpuhost::ctl
