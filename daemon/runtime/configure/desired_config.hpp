// SPDX-License-Identifier: Apache-2.0
// The desired configuration of a runtime for GPUs.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/runtime_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// A runtime class of NVIDIA's toolkit: pods that name it get GPUs.
struct RuntimeClass {
    std::string name;   ///< "nvidia-cdi"
    std::string binary; ///< "/usr/bin/nvidia-container-runtime.cdi"
    friend bool operator==(const RuntimeClass&, const RuntimeClass&) = default;
};

/// A default-constructed value means: the configuration without gpuhost's edits.
struct DesiredConfig {
    bool cdi = false;           ///< CDI is on
    std::string spec_directory; ///< a directory of specifications that the runtime must read
    std::vector<RuntimeClass> classes;
    std::string default_class;   ///< empty: unchanged
    bool registry_hosts = false; ///< containerd reads certs.d when it pulls for pods
};

/// Computes the desired configuration. `config` is the present one without gpuhost's edits; its support for
/// CDI decides the meaning of Classes=auto. `version` is for messages. Fails with InvalidArgument for an
/// invalid setting, with NotFound for a class whose program is missing, and with Unsupported if the runtime
/// has neither CDI nor classes.
[[nodiscard]] base::Result<DesiredConfig> desired_config(const base::Root& root, const RuntimeConfig& config,
                                                         const std::string& version,
                                                         const RuntimeSettings& settings);

/// Returns phrases for what `config` lacks to give GPUs to containers.
[[nodiscard]] std::vector<std::string> lacking_for_gpus(const RuntimeConfig& config,
                                                        const DesiredConfig& desired);
/// Returns phrases for the parts of `desired` that `config` lacks.
[[nodiscard]] std::vector<std::string> lacking(const RuntimeConfig& config, const DesiredConfig& desired);

/// Returns true if the runtime reads specifications in that directory. "/var/run" equals "/run".
[[nodiscard]] bool reads_specs_in(const RuntimeConfig& config, const std::string& directory);

} // namespace gpuhost::runtime
