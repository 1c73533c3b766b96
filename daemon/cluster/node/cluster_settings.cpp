// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/cluster_settings.hpp"

#include "daemon/cluster/node/readiness.hpp"

#include <array>

namespace gpuhost::cluster {
namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::string_view section = "Cluster";

constexpr std::array keys{
    SettingKey{"Cluster", "NodeName", SettingType::String, "", "",
               "this host's Node in Kubernetes; empty: the host's name in lower case"},
    SettingKey{"Cluster", "StartupTaints", SettingType::Words, "gpuhost.io/not-ready", "",
               "keys of taints that are removed from the Node once the host is ready"},
    SettingKey{"Cluster", "TaintWhenNotReady", SettingType::Boolean, "no", "",
               "set the first of StartupTaints= again whenever the host is not ready"},
    SettingKey{"Cluster", "ReadyWhen", SettingType::Choice, "runtime", "driver runtime images",
               "what the host needs to be ready; each value includes those before it"},
    SettingKey{"Cluster", "Manage", SettingType::Boolean, "yes", "",
               "upgrade this host's driver by the cluster's policy"},
    SettingKey{"Cluster", "EvictAs", SettingType::Choice, "kubelet", "kubelet own",
               "whose credentials evict pods before a swap"},
    SettingKey{
        "Cluster", "KubeletFiles", SettingType::Words,
        "/etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt /var/lib/kubelet/kubeconfig "
        "/var/lib/kubelet/pki/kubelet-client-current.pem "
        "/var/lib/rancher/k3s/agent/kubelet.kubeconfig /var/lib/rancher/k3s/agent/client-kubelet.crt "
        "/var/lib/rancher/k3s/agent/client-kubelet.key /var/lib/rancher/k3s/agent/server-ca.crt "
        "/var/lib/rancher/rke2/agent/kubelet.kubeconfig /var/lib/rancher/rke2/agent/client-kubelet.crt "
        "/var/lib/rancher/rke2/agent/client-kubelet.key /var/lib/rancher/rke2/agent/server-ca.crt",
        "", "the kubelet's kubeconfig and the files that it names, to move pods before a swap"},
    SettingKey{"Cluster", "Candidate", SettingType::Boolean, "no", "",
               "this host may lead: issue the grants by which hosts upgrade"},
    SettingKey{"Cluster", "MetricsListen", SettingType::String, "", "",
               "address and port of the metrics for Prometheus, such as 127.0.0.1:9835; empty: none"},
};

/// The values of ReadyWhen=, in order. Each requires its own condition and the conditions of the values
/// before it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> conditions{
    {{"driver", driver_ready}, {"runtime", runtime_ready}, {"images", images_ready}}};

} // namespace

std::span<const SettingKey> cluster_setting_keys() {
    return keys;
}

ClusterSettings cluster_settings(const core::Settings& settings) {
    ClusterSettings values;
    values.node = settings.string(section, "NodeName");
    values.desired.taints = settings.words(section, "StartupTaints");
    values.desired.taint_when_not_ready = settings.boolean(section, "TaintWhenNotReady");
    values.upgrades = settings.boolean(section, "Manage");
    values.candidate = settings.boolean(section, "Candidate");
    values.evicts_as_own = settings.string(section, "EvictAs") == "own";
    values.metrics_listen = settings.string(section, "MetricsListen");
    const std::string last = settings.string(section, "ReadyWhen");
    for (const auto& [name, type] : conditions) {
        values.desired.ready.emplace_back(type);
        if (name == last)
            break;
    }
    return values;
}

core::Settings load_cluster_settings(const base::Root& root) {
    return core::load_settings(root, {cluster_setting_keys()}).settings;
}

core::Settings reload_cluster_settings(const base::Root& root, const core::Settings& current) {
    return core::reload_settings(root, {cluster_setting_keys()}, current).settings;
}

} // namespace gpuhost::cluster
