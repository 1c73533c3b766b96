// SPDX-License-Identifier: Apache-2.0
// The toolkit that a host uses: one in gpuhost's store, a preinstalled one, or none.
#pragma once

#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/toolkit/store.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

#include <optional>
#include <string>

namespace gpuhost::runtime {

enum class ToolkitSource { Off, Preinstalled, Store };
[[nodiscard]] std::string_view name_of(ToolkitSource source);

struct ToolkitChoice {
    ToolkitSource source = ToolkitSource::Off;
    std::string version;   ///< only for Store: the version of the toolkit
    std::string path;      ///< only for Store: the directory of the toolkit
    std::string directory; ///< directory of its programs in runtimes' configuration; empty: no toolkit
    /// Directory that has the programs now, before the link in `directory` is set; empty: no toolkit.
    std::string programs;
    /// A sentence about why the desired toolkit can't be used; empty: it can. The other members then describe
    /// the toolkit that stays in use.
    std::string problem;
};

/// Returns the toolkit that `settings` select. `current` is the target of the store's link. Pure.
[[nodiscard]] ToolkitChoice choose_toolkit(const ToolkitSettings& settings, const ToolkitStore& store,
                                           const std::string& current, bool is_preinstalled);
/// Returns the toolkit that `settings` select on this host. An apply may still have to select it.
[[nodiscard]] ToolkitChoice wanted_toolkit(const base::Root& root, const ToolkitSettings& settings);
[[nodiscard]] ToolkitPlace place_of(const ToolkitChoice& choice);
/// Returns the toolkit that is in use now. Decides like wanted_toolkit(), but ignores all toolkits in the
/// store except the selected one.
[[nodiscard]] ToolkitChoice present_toolkit(const base::Root& root, const ToolkitSettings& settings);

/// Returns the program directory of a toolkit that is not in gpuhost's store.
[[nodiscard]] std::string preinstalled_directory(const ToolkitSettings& settings);
[[nodiscard]] bool is_toolkit_in(const base::Root& root, const std::string& directory);

} // namespace gpuhost::runtime
