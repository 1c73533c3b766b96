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
constexpr std::string_view names_flavour = "set by Flavour= of gpuhostd.conf(5)";
constexpr std::string_view no_repository = "packages come from bundles, not from a repository";
constexpr std::string_view no_virtual = "gpuhost does not manage drivers for virtual GPUs";
constexpr std::string_view installed_toolkit = "the toolkit is installed on the host, not by a container";
constexpr std::string_view own_operand = "the GPU Operator runs it; gpuhost does not manage it";

/// The first entry whose prefix matches applies.
constexpr std::array ignored{
    Ignored{"driver.repository", from_bundles},
    Ignored{"driver.imagePullPolicy", from_bundles},
    Ignored{"driver.imagePullSecrets", from_bundles},
    Ignored{"driver.image", from_bundles},
    Ignored{"driver.usePrecompiled", "hosts use built modules if a bundle has them, and build others"},
    Ignored{"driver.kernelModuleType", names_flavour},
    Ignored{"driver.useOpenKernelModules", names_flavour},
    Ignored{"driver.kernelModuleConfig", "set by ModuleParameters= of gpuhostd.conf(5)"},
    Ignored{"driver.useNvidiaDriverCRD", "rollout.pools replaces NVIDIADriver objects"},
    Ignored{"driver.rdma", "gpuhost does not manage modules for peer memory"},
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
    Ignored{"driver.upgradePolicy", "the GPU Operator's upgrade policy has no such field"},
    Ignored{"driver", no_container},
    Ignored{"daemonsets",
            "there are no daemon sets; autoUpgrade alone decides whether hosts upgrade automatically"},
    Ignored{"toolkit", installed_toolkit},
    Ignored{"cdi",
            "hosts always write CDI specifications; [Runtime] of gpuhostd.conf(5) configures runtimes"},
    Ignored{"operator", "there is no operator"},
    Ignored{"hostPaths", "there is no operator: paths are the host's own"},
    Ignored{"validator",
            "hosts run their own validation; they wait for the GPU Operator's validator where it runs"},
    Ignored{"devicePlugin", own_operand},
    Ignored{"dcgmExporter", own_operand},
    Ignored{"dcgm", own_operand},
    Ignored{"gfd", own_operand},
    Ignored{"nodeStatusExporter", own_operand},
    Ignored{"migManager", own_operand},
    Ignored{"mig", "gpuhost does not partition GPUs; containers get the MIG instances that exist"},
    Ignored{"gds", "gpuhost does not manage nvidia-fs; containers get its devices where it is loaded"},
    Ignored{"gdrcopy", "gpuhost does not manage gdrdrv; containers get its device where it is loaded"},
    Ignored{"psp", "gpuhost runs no pods"},
    Ignored{"psa", "gpuhost runs no pods"},
    Ignored{"sandboxWorkloads", no_virtual},
    Ignored{"sandboxDevicePlugin", no_virtual},
    Ignored{"vgpuManager", no_virtual},
    Ignored{"vgpuDeviceManager", no_virtual},
    Ignored{"vfioManager", "gpuhost does not pass GPUs through to virtual machines"},
    Ignored{"kataManager", own_operand},
    Ignored{"kataSandboxDevicePlugin", own_operand},
    Ignored{"ccManager", own_operand},
};

/// Returns whether `path` is `prefix` or a member of it.
bool is_below(std::string_view path, std::string_view prefix) {
    return base::starts_with(path, prefix) && (path.size() == prefix.size() || path[prefix.size()] == '.');
}

} // namespace

std::string why_ignored(std::string_view path) {
    const auto* const found = std::find_if(ignored.begin(), ignored.end(),
                                           [&](const Ignored& i) { return is_below(path, i.prefix); });
    std::string reason(found == ignored.end() ? "gpuhost has no such field" : found->reason);
    if (found != ignored.end() && found->prefix == path)
        return reason;
    const std::string near = nearest_field(path);
    return near.empty() ? reason : reason + " (did you mean '" + near + "'?)";
}

} // namespace gpuhost::cluster
