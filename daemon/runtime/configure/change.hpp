// SPDX-License-Identifier: Apache-2.0
// Edits of a runtime's files that give it the desired configuration. Pure. An empty DesiredConfig removes all
// that gpuhost added.
//
// containerd   /etc/containerd/conf.d/zz-gpuhost.toml (beside its main file, where that is another), and an
//              element of "imports"
// CRI-O        zz-gpuhost.conf in its directory of drop-ins
// Docker       members of daemon.json, which has no drop-ins
//
// The drop-ins sort after those of other tools, such as 99-nvidia.toml, because the last file takes
// precedence.
#pragma once

#include "daemon/runtime/configure/desired_config.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct FileChange {
    std::string path;
    Text before;
    Text after;
    friend bool operator==(const FileChange&, const FileChange&) = default;
};

struct RuntimeChange {
    /// Edits in an order in which each prefix leaves files that the runtime can load; empty: nothing to
    /// change.
    std::vector<FileChange> files;
    std::vector<std::string> reasons; ///< phrases
    /// Whether the effective configuration changes, which the runtime reads when it starts.
    bool is_effective = false;
    RuntimeState after; ///< with the files after the change
};

/// Returns the paths that a change may touch, in no order.
[[nodiscard]] std::vector<std::string> changeable_files(const RuntimeInstance& instance);
/// Returns the runtime's state without gpuhost's edits; a DesiredConfig is made from it.
[[nodiscard]] RuntimeState without_ours(const RuntimeState& state);

/// Plans the edits. `texts` holds the texts of changeable_files(). `known` tells which parts gpuhost wrote,
/// where the file does not show it.
[[nodiscard]] base::Result<RuntimeChange> runtime_change(const RuntimeState& state,
                                                         const DesiredConfig& desired,
                                                         const std::map<std::string, Text>& texts,
                                                         const KnownFiles& known);

/// Plan the edits for one kind of runtime; runtime_change() selects the function.
[[nodiscard]] base::Result<RuntimeChange> containerd_change(const RuntimeState& state,
                                                            const DesiredConfig& desired,
                                                            const std::map<std::string, Text>& texts);
[[nodiscard]] base::Result<RuntimeChange> crio_change(const RuntimeState& state, const DesiredConfig& desired,
                                                      const std::map<std::string, Text>& texts);
[[nodiscard]] base::Result<RuntimeChange> docker_change(const RuntimeState& state,
                                                        const DesiredConfig& desired,
                                                        const std::map<std::string, Text>& texts,
                                                        const KnownFiles& known);

} // namespace gpuhost::runtime
