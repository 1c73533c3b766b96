// SPDX-License-Identifier: Apache-2.0
// The host's toolkits, below /var/lib/gpuhost/toolkit:
//
//   <version>/<digest>/   one sealed toolkit
//   current               a link to one of them; runtimes use it, so another version needs no restart
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/runtime/toolkit/set.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_current = "/var/lib/gpuhost/toolkit/current";

struct ToolkitStore {
    std::vector<ToolkitSet> sets;      ///< newest version first; within a version, the newest import first
    std::vector<std::string> problems; ///< sentences about unreadable sets

    /// Returns the toolkit to use for `version`. For an empty version it is the newest release, else the
    /// newest candidate. nullptr: none.
    [[nodiscard]] const ToolkitSet* find(std::string_view version = {}) const;
    /// Returns the toolkit that `path` leads to; nullptr: none, or unusable.
    [[nodiscard]] const ToolkitSet* at(std::string_view path) const;
};

/// Reads the store. A damaged toolkit is a problem in the result, not an error. An absent store is empty.
[[nodiscard]] ToolkitStore read_toolkit_store(const base::Root& root);

/// Returns the directory that `current` leads to; empty: no link.
[[nodiscard]] std::string current_toolkit(const base::Root& root);
/// Returns the target text of a `current` link that leads to `path`.
[[nodiscard]] std::string link_to_toolkit(const std::string& path);

/// Returns -1, 0 or 1. "1.18.0~rc.2" is older than "1.18.0", which is older than "1.18.1".
[[nodiscard]] int compare_toolkit_versions(std::string_view a, std::string_view b);

/// Returns the document of `toolkit list --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const ToolkitStore& store, const std::string& current);

} // namespace gpuhost::runtime
