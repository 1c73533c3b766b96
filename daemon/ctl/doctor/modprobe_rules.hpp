// SPDX-License-Identifier: Apache-2.0
// Finds what blocks the modules of GPUs: rules in modprobe.d(5), and the kernel command line. Neither is
// written by gpuhost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// A rule in modprobe.d(5) that blocks a module, or runs a command instead of loading it.
struct ModprobeRule {
    std::string file;
    std::string command; ///< "install" or "blacklist"
    std::string module;
    friend bool operator==(const ModprobeRule&, const ModprobeRule&) = default;
};
/// Returns the rules of a file that concern NVIDIA's modules or nouveau.
[[nodiscard]] std::vector<ModprobeRule> modprobe_rules(std::string_view text, const std::string& file);

/// Returns true if a kernel command line blocks nouveau.
[[nodiscard]] bool command_line_blocks_nouveau(std::string_view line);

} // namespace gpuhost::ctl
