// SPDX-License-Identifier: Apache-2.0
// What a runtime's configuration is to say for GPUs.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/runtime_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// By which NVIDIA's toolkit gives GPUs to pods that name it.
struct RuntimeClass {
    std::string name;   ///< "nvidia-cdi"
    std::string binary; ///< "/usr/bin/nvidia-container-runtime.cdi"
    friend bool operator==(const RuntimeClass&, const RuntimeClass&) = default;
};

/// Empty: the configuration is to say what it says without us.
struct RuntimeWish {
    bool cdi = false;           ///< CDI is on
    std::string spec_directory; ///< that it reads
    std::vector<RuntimeClass> classes;
    std::string default_class;   ///< empty: as it is without us
    bool registry_hosts = false; ///< containerd reads certs.d when it pulls for pods
};

/// `config` is what the runtime is configured to do without us, `version` for messages: whether it knows CDI decides what
/// "auto" is. InvalidArgument is a setting that means nothing; NotFound, a class whose program is not there; Unsupported,
/// neither CDI nor classes.
[[nodiscard]] base::Result<RuntimeWish> wish_for(const base::Root& root, const RuntimeConfig& config,
                                                 const std::string& version, const RuntimeSettings& settings);

/// What `config` lacks for containers to get GPUs, as phrases.
[[nodiscard]] std::vector<std::string> lacking_for_gpus(const RuntimeConfig& config, const RuntimeWish& wish);
/// What of it `config` does not say, as phrases.
[[nodiscard]] std::vector<std::string> lacking(const RuntimeConfig& config, const RuntimeWish& wish);

/// Does it look there? "/var/run" is "/run".
[[nodiscard]] bool reads_specs_in(const RuntimeConfig& config, const std::string& directory);

} // namespace gpuhost::runtime
