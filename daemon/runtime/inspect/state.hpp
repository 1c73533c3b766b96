// SPDX-License-Identifier: Apache-2.0
// A runtime with its effective configuration: the basis of its documents and of changes.
#pragma once

#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/inspect/containerd_files.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeState {
    RuntimeInstance instance;
    /// In the order in which the runtime reads them. The first one is its main file, even if that does not
    /// exist.
    std::vector<ConfigFile> files;
    RuntimeConfig config;
    bool is_secret = false;                  ///< the caller may not read all files
    std::string spec_directory = "/run/cdi"; ///< directory of gpuhostd's specifications
    std::string spec_version; ///< newest CDI version of these specifications; empty: there are none
};

/// Derives the effective configuration and its problems from the files. Pure.
[[nodiscard]] RuntimeState configured(RuntimeInstance instance, std::vector<ConfigFile> files);
/// Returns the files' contents in the same order.
[[nodiscard]] std::vector<base::Json> contents_of(const std::vector<ConfigFile>& files);

/// Reads the state of a runtime: its files, and its version if the instance has none yet.
[[nodiscard]] RuntimeState read_runtime(const base::Root& root, RuntimeInstance instance);
[[nodiscard]] std::vector<RuntimeState> read_runtimes(const base::Root& root);
/// Fails with NotFound if no runtime has the name.
[[nodiscard]] base::Result<RuntimeState> read_runtime_named(const base::Root& root, const std::string& name);

/// Returns true if the runtime reads gpuhostd's specifications, assuming that its CDI is on.
[[nodiscard]] bool reads_specs(const RuntimeState& state);

/// Returns a sentence for administrators: whether containers of this runtime get GPUs, and what to do if not.
/// Pure.
[[nodiscard]] std::string verdict(const RuntimeState& state);

} // namespace gpuhost::runtime
