// SPDX-License-Identifier: Apache-2.0
// A runtime with what it is configured to do: what is shown, and what a change of it starts from.
#pragma once

#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/inspect/containerd_files.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeState {
    RuntimeInstance instance;
    std::vector<ConfigFile>
        files; ///< in the order in which the runtime reads them, the first one also where it is not there
    RuntimeConfig config;
    bool is_secret = false;                  ///< who asks may not read all of it
    std::string spec_directory = "/run/cdi"; ///< where gpuhostd's specifications are
    std::string spec_version; ///< the newest version of CDI that they use; empty: there are none
};

/// What its files come to, and what is wrong with them. Pure.
[[nodiscard]] RuntimeState configured(RuntimeInstance instance, std::vector<ConfigFile> files);
/// What they say, in their order.
[[nodiscard]] std::vector<base::Json> contents_of(const std::vector<ConfigFile>& files);

/// Reads its files, and asks its version where the instance has none yet.
[[nodiscard]] RuntimeState read_runtime(const base::Root& root, RuntimeInstance instance);
[[nodiscard]] std::vector<RuntimeState> read_runtimes(const base::Root& root);
/// NotFound if none has the name.
[[nodiscard]] base::Result<RuntimeState> read_runtime_named(const base::Root& root, const std::string& name);

/// Returns whether it reads gpuhostd's specifications, where its CDI is on.
[[nodiscard]] bool reads_specs(const RuntimeState& state);

/// What an administrator is to know of it and GPUs, in a sentence. Pure.
[[nodiscard]] std::string verdict(const RuntimeState& state);

} // namespace gpuhost::runtime
