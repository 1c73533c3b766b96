// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// How `before` becomes `after`, as one hunk of a unified diff: its "@@" line, then each line behind ' ', '-' or '+', with
/// three unchanged ones around; empty when they are the same. Lines between two changes count as changed: what it is for
/// has one.
[[nodiscard]] std::vector<std::string> line_diff(std::string_view before, std::string_view after);

} // namespace gpuhost::ctl
