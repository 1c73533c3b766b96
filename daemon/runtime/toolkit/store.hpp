// SPDX-License-Identifier: Apache-2.0
// The host's toolkits, below /var/lib/gpuhost/toolkit:
//
//   <version>/<digest>/   one sealed toolkit
//   current               a link to one of them; runtimes use it, so another version needs no restart
#pragma once

#include "daemon/base/json_fwd.hpp"
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

    /// Returns the newest import of `version`; nullptr if the store lacks it. If `version` is empty, returns
    /// the newest release. A store with release candidates only returns the newest of them.
    [[nodiscard]] const ToolkitSet* find(std::string_view version = {}) const;
    /// Returns the toolkit in the directory `path`; nullptr if there is none or it can't be read.
    [[nodiscard]] const ToolkitSet* at(std::string_view path) const;
};

/// Reads the store. A toolkit that can't be read is added to `problems`. A missing store is empty.
[[nodiscard]] ToolkitStore read_toolkit_store(const base::Root& root);

/// Returns the directory that the link `current` points to; empty if there is no link.
[[nodiscard]] std::string current_toolkit(const base::Root& root);
/// Returns the text for the link `current` so that it points to the directory `path`.
[[nodiscard]] std::string link_to_toolkit(const std::string& path);

/// Compares versions: returns -1, 0 or 1. "1.18.0~rc.2" is older than "1.18.0", which is older than "1.18.1".
[[nodiscard]] int compare_toolkit_versions(std::string_view a, std::string_view b);

/// Returns the document of `toolkit list --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const ToolkitStore& store, const std::string& current);

} // namespace gpuhost::runtime
