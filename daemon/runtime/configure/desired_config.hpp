// SPDX-License-Identifier: Apache-2.0
// The desired configuration of a runtime for GPUs.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/runtime_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// A runtime class by which NVIDIA's toolkit gives GPUs to pods that name it.
struct RuntimeClass {
    std::string name;   ///< "nvidia-cdi"
    std::string binary; ///< "/usr/bin/nvidia-container-runtime.cdi"
    friend bool operator==(const RuntimeClass&, const RuntimeClass&) = default;
};

/// Empty: the configuration without gpuhost's edits.
struct DesiredConfig {
    bool cdi = false;           ///< CDI is on
    std::string spec_directory; ///< which the runtime must read
    std::vector<RuntimeClass> classes;
    std::string default_class;   ///< empty: unchanged
    bool registry_hosts = false; ///< containerd reads certs.d when it pulls for pods
};

/// Returns the desired configuration. `config` is the configuration without gpuhost's edits; whether it
/// supports CDI decides the meaning of "auto". `version` is for messages. Fails with InvalidArgument for a
/// setting without a meaning, NotFound for a class without its program, and Unsupported without both CDI and
/// classes.
[[nodiscard]] base::Result<DesiredConfig> desired_config(const base::Root& root, const RuntimeConfig& config,
                                                         const std::string& version,
                                                         const RuntimeSettings& settings);

/// Returns phrases for what `config` lacks to give GPUs to containers.
[[nodiscard]] std::vector<std::string> lacking_for_gpus(const RuntimeConfig& config,
                                                        const DesiredConfig& desired);
/// Returns phrases for the parts of `desired` that `config` lacks.
[[nodiscard]] std::vector<std::string> lacking(const RuntimeConfig& config, const DesiredConfig& desired);

/// Returns whether the runtime reads that directory. "/var/run" equals "/run".
[[nodiscard]] bool reads_specs_in(const RuntimeConfig& config, const std::string& directory);

} // namespace gpuhost::runtime
