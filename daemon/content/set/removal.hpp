// SPDX-License-Identifier: Apache-2.0
// The steps of a store that remove directories from it. The first one moves a directory to
// STORE/.trash/TRANSACTION by one rename, which it can undo. The second one deletes .trash and has no undo.
#pragma once

#include "daemon/core/step.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct Removing {
    std::string_view store; ///< directory of the store
    /// Returns the path, below `store`, of the directory to remove. Fails with InvalidArgument for invalid
    /// args.
    std::function<base::Result<std::string>(const base::Json& args)> place;
    /// Returns the reasons why the directory `path` may not be removed. Runs again before the rename, because
    /// the directory may be in use since the preflight.
    std::function<base::Result<std::vector<core::Problem>>(core::StepContext& context, const base::Json& args,
                                                           const std::string& path)>
        check;
    /// Reports what is deleted, and changes what refers to it.
    std::function<base::Result<void>(core::StepContext& context, const base::Json& args)> before_purge;
};

/// Returns the code of the step kind `name`, which moves a directory to the trash. The kind's sandbox and
/// deadline must be sufficient for Removing::check.
[[nodiscard]] core::StepCode remove_code(std::string name, const Removing& removing);

/// Returns the code of the step kind `name`, which deletes the whole trash. It also deletes those parents of
/// the removed directory that became empty. The kind needs Sandbox::Store.
[[nodiscard]] core::StepCode purge_code(std::string name, const Removing& removing);

/// Removes `directory` and those of its parents that are below `top`, as long as they are empty.
[[nodiscard]] base::Result<void> remove_empty(const base::Root& root, std::string directory,
                                              std::string_view top);

} // namespace gpuhost::content
