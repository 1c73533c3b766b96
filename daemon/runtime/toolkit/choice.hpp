// SPDX-License-Identifier: Apache-2.0
// The toolkit that a host uses: one of the store, a preinstalled one, or none.
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
    std::string version;   ///< for Store
    std::string path;      ///< for Store: its directory
    std::string directory; ///< where runtimes look for its programs; empty: nowhere
    std::string programs;  ///< where they are now, even before the link leads there; empty: nowhere
    /// A sentence on why the desired toolkit is unavailable; the earlier choice then remains.
    std::string problem;
};

/// Returns the toolkit that `settings` select. `current` is the target of the store's link.
[[nodiscard]] ToolkitChoice choose_toolkit(const ToolkitSettings& settings, const ToolkitStore& store,
                                           const std::string& current, bool is_preinstalled);
/// Returns the toolkit that `settings` select on this host.
[[nodiscard]] ToolkitChoice wanted_toolkit(const base::Root& root, const ToolkitSettings& settings);
[[nodiscard]] ToolkitPlace place_of(const ToolkitChoice& choice);
/// Returns the choice among what is selected now, without changes that an apply would still make.
[[nodiscard]] ToolkitChoice present_toolkit(const base::Root& root, const ToolkitSettings& settings);

/// Returns the program directory of a toolkit that is not gpuhost's.
[[nodiscard]] std::string preinstalled_directory(const ToolkitSettings& settings);
[[nodiscard]] bool is_toolkit_in(const base::Root& root, const std::string& directory);

} // namespace gpuhost::runtime
