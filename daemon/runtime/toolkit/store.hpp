// SPDX-License-Identifier: Apache-2.0
// The toolkits that are here, below /var/lib/gpuhost/toolkit:
//
//   <version>/<digest>/   one, sealed
//   current               a link to one of them: what runtimes are told, so that another version is a rename and no restart
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
    std::vector<ToolkitSet> sets;      ///< newest version first, of one version the newest import
    std::vector<std::string> problems; ///< sets that can't be read, as sentences

    /// The one to use of `version`; of an empty one the newest of all, where a candidate of a release comes behind all
    /// releases. nullptr: none is here.
    [[nodiscard]] const ToolkitSet* find(std::string_view version = {}) const;
    /// Where `current` leads; nullptr: nowhere, or to nothing that can be used.
    [[nodiscard]] const ToolkitSet* at(std::string_view path) const;
};

/// Never fails on a damaged one: that is a problem in the result. An absent store is an empty one.
[[nodiscard]] ToolkitStore read_toolkit_store(const base::Root& root);

/// The directory to which `current` leads; empty: it is not there.
[[nodiscard]] std::string current_toolkit(const base::Root& root);
/// What `current` says to lead to `path`.
[[nodiscard]] std::string link_to_toolkit(const std::string& path);

/// -1, 0, 1: "1.18.0~rc.2" is older than "1.18.0", and that than "1.18.1".
[[nodiscard]] int compare_toolkit_versions(std::string_view a, std::string_view b);

/// `toolkit list --json` (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const ToolkitStore& store, const std::string& current);

} // namespace gpuhost::runtime
