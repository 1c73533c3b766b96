// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// Returns the changes from `before` to `after` as one hunk of a unified diff, with three lines of context;
/// empty if both are equal. Each line after the "@@" line starts with ' ', '-' or '+'. Lines between two
/// changes are shown as changed too; callers compare texts with one change only.
[[nodiscard]] std::vector<std::string> line_diff(std::string_view before, std::string_view after);

} // namespace gpuhost::ctl
