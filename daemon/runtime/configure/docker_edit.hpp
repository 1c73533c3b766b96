// SPDX-License-Identifier: Apache-2.0
// Edits Docker's daemon.json and preserves its indentation and the order of its keys.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// The edits to make.
struct DockerEdit {
    std::optional<bool> cdi; ///< features.cdi
    bool drop_cdi = false;   ///< removes features.cdi; `cdi` is ignored
    /// Names and paths of runtimes to set. An entry that already has this path keeps its other members.
    std::map<std::string, std::string> runtimes;
    /// Runtimes to restore: the entries from before gpuhost set a path.
    std::map<std::string, base::Json> earlier_runtimes;
    std::vector<std::string> removed_runtimes;
    std::optional<std::string> default_runtime;        ///< "" removes the key
    std::optional<std::vector<std::string>> spec_dirs; ///< cdi-spec-dirs; an empty list removes the key
};

/// Returns the edited text of daemon.json. An empty text means a missing file. If an edit has no effect,
/// returns the text unchanged. Other members of "features" and "runtimes" stay; an object that loses its last
/// member is removed.
/// Fails with BadContent if the text is not a JSON object, or if these members have other types. Fails with
/// Refused if an edit would lose content: a repeated key, or a number that would be written differently.
[[nodiscard]] base::Result<std::string> edit_docker(std::string_view text, const DockerEdit& edit,
                                                    std::string_view what);

} // namespace gpuhost::runtime
