// SPDX-License-Identifier: Apache-2.0
// Reasons why fields of the GPU Operator's ClusterPolicy (v26.7) have no effect here. gpuhost-policy(5) lists
// them.
#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/fields.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {
namespace {

struct Ignored {
    std::string_view prefix; ///< prefix of a path
    std::string_view reason;
};

constexpr std::string_view from_bundles = "drivers come from bundles, not from a registry";
constexpr std::string_view no_container = "there is no driver container";
constexpr std::string_view names_flavour = "Flavour= of gpuhostd.conf(5) says it";
constexpr std::string_view no_repository = "packages come in bundles; no repository is asked";
constexpr std::string_view no_virtual = "drivers for virtual GPUs are not gpuhost's";
constexpr std::string_view installed_toolkit = "the toolkit is installed on the host, not by a container";
constexpr std::string_view own_operand = "the GPU Operator runs it; gpuhost leaves it alone";

/// The first match applies.
constexpr std::array ignored{
    Ignored{"driver.repository", from_bundles},
    Ignored{"driver.imagePullPolicy", from_bundles},
    Ignored{"driver.imagePullSecrets", from_bundles},
    Ignored{"driver.image", from_bundles},
    Ignored{"driver.usePrecompiled", "hosts take built modules where a bundle has them, and build others"},
    Ignored{"driver.kernelModuleType", names_flavour},
    Ignored{"driver.useOpenKernelModules", names_flavour},
    Ignored{"driver.kernelModuleConfig", "ModuleParameters= of gpuhostd.conf(5) says it"},
    Ignored{"driver.useNvidiaDriverCRD", "rollout.pools has what NVIDIADriver objects are for"},
    Ignored{"driver.rdma", "modules for peer memory are not gpuhost's"},
    Ignored{"driver.manager", "there is no driver manager: each host moves its own pods"},
    Ignored{"driver.startupProbe", "there is no driver container; rollout.swapTimeoutSeconds bounds a swap"},
    Ignored{"driver.livenessProbe", no_container},
    Ignored{"driver.readinessProbe", no_container},
    Ignored{"driver.resources", no_container},
    Ignored{"driver.args", no_container},
    Ignored{"driver.env", no_container},
    Ignored{"driver.secretEnv", no_container},
    Ignored{"driver.hostNetwork", no_container},
    Ignored{"driver.repoConfig", no_repository},
    Ignored{"driver.certConfig", no_repository},
    Ignored{"driver.licensingConfig", no_virtual},
    Ignored{"driver.virtualTopology", no_virtual},
    Ignored{"driver.upgradePolicy", "it is none of the GPU Operator's upgrade policy"},
    Ignored{"driver", no_container},
    Ignored{"daemonsets",
            "there are no daemon sets; autoUpgrade alone decides whether hosts upgrade by themselves"},
    Ignored{"toolkit", installed_toolkit},
    Ignored{"cdi", "hosts always write CDI specifications; [Runtime] of gpuhostd.conf(5) is for the runtime"},
    Ignored{"operator", "there is no operator"},
    Ignored{"hostPaths", "there is no operator: paths are the host's own"},
    Ignored{"validator",
            "hosts validate themselves; where the GPU Operator's validator runs, it is waited for"},
    Ignored{"devicePlugin", own_operand},
    Ignored{"dcgmExporter", own_operand},
    Ignored{"dcgm", own_operand},
    Ignored{"gfd", own_operand},
    Ignored{"nodeStatusExporter", own_operand},
    Ignored{"migManager", own_operand},
    Ignored{"mig", "GPUs are split by who splits them now; what they are split into is told to containers"},
    Ignored{"gds", "nvidia-fs is not gpuhost's; containers get its devices where it is loaded"},
    Ignored{"gdrcopy", "gdrdrv is not gpuhost's; containers get its device where it is loaded"},
    Ignored{"psp", "there are no pods of gpuhost's"},
    Ignored{"psa", "there are no pods of gpuhost's"},
    Ignored{"sandboxWorkloads", no_virtual},
    Ignored{"sandboxDevicePlugin", no_virtual},
    Ignored{"vgpuManager", no_virtual},
    Ignored{"vgpuDeviceManager", no_virtual},
    Ignored{"vfioManager", "GPUs are not handed on to virtual machines by gpuhost"},
    Ignored{"kataManager", own_operand},
    Ignored{"kataSandboxDevicePlugin", own_operand},
    Ignored{"ccManager", own_operand},
};

/// Returns whether `path` is `prefix` or a member of it.
bool is_below(std::string_view path, std::string_view prefix) {
    return base::starts_with(path, prefix) && (path.size() == prefix.size() || path[prefix.size()] == '.');
}

} // namespace

std::string_view why_ignored(std::string_view path) {
    const auto* const found = std::find_if(ignored.begin(), ignored.end(),
                                           [&](const Ignored& i) { return is_below(path, i.prefix); });
    return found == ignored.end() ? "gpuhost knows no such field" : found->reason;
}

} // namespace gpuhost::cluster
