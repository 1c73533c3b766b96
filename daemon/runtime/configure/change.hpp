// SPDX-License-Identifier: Apache-2.0
// By which edits of its files a runtime comes to do what is wished. Pure; an empty wish takes out all that is ours.
//
// containerd   /etc/containerd/conf.d/zz-gpuhost.toml (beside its file, where that is another), and an element of "imports"
// CRI-O        zz-gpuhost.conf in its drop-ins' directory
// Docker       members of daemon.json, which has no drop-ins
//
// The drop-ins' names come behind those of other tools, as 99-nvidia.toml: the last file has the last word.
#pragma once

#include "daemon/runtime/configure/wish.hpp"
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
    std::vector<FileChange>
        files; ///< in an order in which the runtime loads what each prefix leaves; none: it is so
    std::vector<std::string> reasons; ///< phrases
    bool is_effective =
        false;          ///< the runtime is configured to do something else, and reads that when it starts
    RuntimeState after; ///< with the files as they will be
};

/// The files that a change may touch, in no order.
[[nodiscard]] std::vector<std::string> changeable_files(const RuntimeInstance& instance);
/// The runtime as it were without us: what a wish is made for.
[[nodiscard]] RuntimeState without_ours(const RuntimeState& state);

/// `texts` are those of changeable_files(); `known` says what of them is ours, where nothing else tells.
[[nodiscard]] base::Result<RuntimeChange> runtime_change(const RuntimeState& state, const RuntimeWish& wish,
                                                         const std::map<std::string, Text>& texts,
                                                         const KnownFiles& known);

/// The runtimes of which each of the above has one of its own.
[[nodiscard]] base::Result<RuntimeChange> containerd_change(const RuntimeState& state,
                                                            const RuntimeWish& wish,
                                                            const std::map<std::string, Text>& texts);
[[nodiscard]] base::Result<RuntimeChange> crio_change(const RuntimeState& state, const RuntimeWish& wish,
                                                      const std::map<std::string, Text>& texts);
[[nodiscard]] base::Result<RuntimeChange> docker_change(const RuntimeState& state, const RuntimeWish& wish,
                                                        const std::map<std::string, Text>& texts,
                                                        const KnownFiles& known);

} // namespace gpuhost::runtime
