// SPDX-License-Identifier: Apache-2.0
// The step of a store that moves sets (file_list.hpp) from a transaction's staging directory to their places.
// A run that was interrupted at any point can be repeated or undone.
//
// The worker that parsed the input owned the staging directory, and may have left any file in it. The step
// therefore first gives that directory to root, checks the sets, and records the moves durably. Afterwards a
// record is trusted only if this process's user wrote it.
#pragma once

#include "daemon/content/set/file_list.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct Publishing {
    std::string_view store; ///< directory of the store
    /// Directory of the sets, below the transaction's staging directory: "/toolkits". Stores that publish in
    /// the same transaction have different directories.
    std::string_view staged;
    /// Patterns of the sets' paths below `staged`: "/modules/*". A matching file that is not a directory is
    /// an error.
    std::vector<std::string_view> patterns;
    /// Parses the manifests of all staged sets. The files of each set match its manifest, and
    /// OpenSet::directory is closed. Returns the directory below the store that will contain each set. Fails
    /// if a set may not be published. The manifests are trusted only for what each file is.
    std::function<base::Result<std::vector<std::string>>(const std::vector<OpenSet>& sets,
                                                         const base::Json& args)>
        parents;
};

/// Returns the code of the step kind `name`, which publishes all staged sets. If an intact set is already at
/// a place, it is kept, and counts as the newest. args: {"optional": true: success if nothing was staged}.
/// The kind needs Sandbox::Store.
[[nodiscard]] core::StepCode publish_code(std::string name, const Publishing& publishing);

} // namespace gpuhost::content
