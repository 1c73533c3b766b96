// SPDX-License-Identifier: Apache-2.0
// Which toolkit a host is to use: one of the store, one that somebody else installed, or none.
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
    std::string version;   ///< of Store
    std::string path;      ///< likewise: its directory
    std::string directory; ///< where runtimes are to look for its programs; empty: nowhere
    std::string programs;  ///< where these are now, also where nothing leads there yet; empty: nowhere
    std::string problem;   ///< a sentence, why what is wanted can't be; then it is what stood before
};

/// What `settings` want of what is here. `current` is where the store's link leads.
[[nodiscard]] ToolkitChoice choose_toolkit(const ToolkitSettings& settings, const ToolkitStore& store,
                                           const std::string& current, bool is_preinstalled);
/// What `settings` come to on this host.
[[nodiscard]] ToolkitChoice wanted_toolkit(const base::Root& root, const ToolkitSettings& settings);
[[nodiscard]] ToolkitPlace place_of(const ToolkitChoice& choice);
/// The same without what an apply would still have to do: with what is selected now.
[[nodiscard]] ToolkitChoice present_toolkit(const base::Root& root, const ToolkitSettings& settings);

/// Where one that is no part of gpuhost has its programs.
[[nodiscard]] std::string preinstalled_directory(const ToolkitSettings& settings);
[[nodiscard]] bool is_toolkit_in(const base::Root& root, const std::string& directory);

} // namespace gpuhost::runtime
