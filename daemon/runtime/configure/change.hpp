// SPDX-License-Identifier: Apache-2.0
// Edits of a runtime's files that give it the desired configuration. Pure. An empty DesiredConfig removes all
// that gpuhost added.
//
// containerd   conf.d/zz-gpuhost.toml in the directory of the main file, which usually is
//              /etc/containerd/config.toml, and an element of "imports" in the main file
// CRI-O        zz-gpuhost.conf in its directory of drop-ins
// Docker       members of daemon.json, which has no drop-ins
//
// The drop-ins sort after those of other tools, such as 99-nvidia.toml, because the last file has precedence.
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
    /// Edits in the order in which they must be written: after each of them the runtime can load its files.
    /// Empty: nothing to change.
    std::vector<FileChange> files;
    std::vector<std::string> reasons; ///< phrases
    /// True if the effective configuration changes. A running runtime uses the change only after a restart.
    bool is_effective = false;
    RuntimeState after; ///< the runtime's state after the change
};

/// Returns the paths of all files that a change may write or remove.
[[nodiscard]] std::vector<std::string> changeable_files(const RuntimeInstance& instance);
/// Returns the runtime's state without gpuhost's drop-in. desired_config() needs it.
[[nodiscard]] RuntimeState without_ours(const RuntimeState& state);

/// Plans the edits. `texts` are the contents of changeable_files(). `known` are the recorded contents of
/// files that gpuhost wrote: daemon.json does not show which of its members are gpuhost's.
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
