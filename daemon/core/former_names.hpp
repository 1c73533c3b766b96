// SPDX-License-Identifier: Apache-2.0
// Names that builds before 0.1.0 gave to files, settings and step kinds. A host that upgrades from such a
// build keeps its state and settings, and resumes an unfinished operation.
#pragma once

#include "daemon/base/root.hpp"

#include <string_view>

namespace gpuhost::core {

/// Returns the present name of a step kind; `name` itself if the kind was never renamed. Journals and jobs of
/// earlier builds contain former names.
[[nodiscard]] std::string_view present_kind(std::string_view name);

/// Returns the present name of a setting's key. Files of administrators may contain the former name.
[[nodiscard]] std::string_view present_key(std::string_view section, std::string_view name);

/// Renames each file with a former name to its present name. If both files exist, removes the former one.
/// Call before reading any state.
[[nodiscard]] base::Result<void> rename_former_files(const base::Root& root);

} // namespace gpuhost::core
