// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/pods.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"

#include <algorithm>

namespace gpuhost::cluster {

using base::Json;
using base::list_of;
using base::member;
using base::string_or;

namespace {

bool is_gpu_resource(const std::string& name) {
    return base::starts_with(name, "nvidia.com/gpu") || base::starts_with(name, "nvidia.com/mig-");
}

bool asks_for_gpu(const Json& container) {
    for (const char* kind : {"limits", "requests"}) {
        const Json& resources = member(member(container, "resources"), kind);
        if (resources.is_object())
            for (const auto& [name, amount] : resources.items())
                if (is_gpu_resource(name))
                    return true;
    }
    return false;
}

/// Returns true if the pod requests a GPU, or uses one without a request: by NVIDIA's runtime class, or with
/// NVIDIA's device files as host paths.
bool uses_gpu(const Json& spec) {
    for (const char* kind : {"containers", "initContainers"})
        for (const Json& container : list_of(spec, kind))
            if (asks_for_gpu(container))
                return true;
    if (base::starts_with(string_or(spec, "runtimeClassName", ""), "nvidia"))
        return true;
    for (const Json& volume : list_of(spec, "volumes"))
        if (base::starts_with(string_or(member(volume, "hostPath"), "path", ""), "/dev/nvidia"))
            return true;
    return false;
}

/// Returns the names of the resource claims in the spec, and of those that were created for the pod.
std::vector<std::string> claims_of(const Json& spec, const Json& status) {
    std::vector<std::string> names;
    for (const Json* list : {&list_of(spec, "resourceClaims"), &list_of(status, "resourceClaimStatuses")})
        for (const Json& claim : *list)
            if (std::string name = string_or(claim, "resourceClaimName", ""); !name.empty())
                names.push_back(std::move(name));
    // The claim of a device that is requested as an extended resource (Kubernetes 1.34)
    if (std::string name = string_or(member(status, "extendedResourceClaimStatus"), "resourceClaimName", "");
        !name.empty())
        names.push_back(std::move(name));
    return names;
}

const Json& controller_of(const Json& metadata) {
    static const Json none;
    for (const Json& owner : list_of(metadata, "ownerReferences"))
        if (base::bool_or(owner, "controller", false))
            return owner;
    return none;
}

bool is_ready(const Json& status) {
    const Json& containers = list_of(status, "containerStatuses");
    return string_or(status, "phase", "") == "Running" && !containers.empty() &&
           std::all_of(containers.begin(), containers.end(),
                       [](const Json& container) { return base::bool_or(container, "ready", false); });
}

bool selects_operand(const Json& spec) {
    const Json& selector = member(spec, "nodeSelector");
    if (selector.is_object())
        for (const auto& [label, value] : selector.items())
            if (is_paused_by(label))
                return true;
    return false;
}

class Choice {
  public:
    Choice(UpgradeAct act, const UpgradePolicy& policy) : act_(act), policy_(policy) {}

    void take(const PodFacts& pod) {
        if (act_ == UpgradeAct::WaitForJobs) {
            if (keeps_driver(pod)) // the pod would still block the swap after the jobs have ended
                refuse_holder(pod);
            else if (pod.is_active && policy_.wait_for.matches(pod.labels))
                choice.leave.push_back(&pod);
        } else if (act_ == UpgradeAct::Validate) {
            if (pod.is_validator && !pod.is_leaving && !pod.is_ready)
                choice.leave.push_back(&pod);
        } else if (act_ == UpgradeAct::DeletePods) {
            if (pod.is_active && pod.uses_gpu)
                evict(pod, policy_.deletion);
        } else if (act_ == UpgradeAct::Drain) {
            const auto skip = pod.labels.find(key::drain_skip);
            if ((skip == pod.labels.end() || skip->second != "true") &&
                policy_.drain.selector.matches(pod.labels))
                evict(pod, policy_.drain);
        }
    }

    PodChoice choice;

  private:
    void evict(const PodFacts& pod, const PodRules& rules) {
        if (keeps_driver(pod))
            refuse_holder(pod);
        else if (pod.is_mirror)
            choice.ignored.push_back(pod.text() + " is a static pod");
        else if (pod.is_daemon && pod.is_active)
            choice.ignored.push_back(pod.text() + " belongs to a DaemonSet");
        else if (!pod.is_leaving && pod.is_active && pod.has_empty_dir && !rules.delete_empty_dir)
            choice.refuse.push_back(pod.text() +
                                    " has an emptyDir, whose data would be lost (deleteEmptyDir is false)");
        else if (!pod.is_leaving && pod.is_active && !pod.is_managed && !rules.force)
            choice.refuse.push_back(pod.text() +
                                    " has no controller that would recreate it (force is false)");
        else
            choice.leave.push_back(&pod);
    }

    /// Returns true for a pod that uses the driver and cannot be moved: it cannot be evicted, and no label
    /// pauses it. While it runs, the driver cannot be swapped.
    static bool keeps_driver(const PodFacts& pod) {
        return pod.holds_driver && pod.is_active && !pod.is_leaving &&
               (pod.is_mirror || (pod.is_daemon && !pod.is_operand));
    }

    void refuse_holder(const PodFacts& pod) {
        choice.refuse.push_back(pod.text() + " holds the driver, and " +
                                (pod.is_mirror
                                     ? "is a static pod: move its file out of the kubelet's directory"
                                     : "its DaemonSet keeps it here: add the nodeSelector " +
                                           std::string(key::deploy_prefix) +
                                           "client=true to the DaemonSet, and that label to the node"));
    }

    UpgradeAct act_;
    const UpgradePolicy& policy_;
};

} // namespace

PodFacts pod_facts(const Json& pod) {
    const Json& metadata = member(pod, "metadata");
    const Json& spec = member(pod, "spec");
    const Json& status = member(pod, "status");
    const std::string phase = string_or(status, "phase", "");
    const Json& controller = controller_of(metadata);
    PodFacts facts;
    facts.space = string_or(metadata, "namespace", "");
    facts.name = string_or(metadata, "name", "");
    facts.uid = string_or(metadata, "uid", "");
    facts.labels = labels_of(pod);
    const auto app = facts.labels.find("app");
    facts.is_validator = app != facts.labels.end() && app->second == "nvidia-operator-validator";
    facts.is_active = phase == "Running" || phase == "Pending";
    facts.is_leaving = !string_or(metadata, "deletionTimestamp", "").empty();
    facts.is_ready = is_ready(status);
    facts.uses_gpu = uses_gpu(spec);
    facts.claims = claims_of(spec, status);
    facts.is_managed = !controller.is_null();
    facts.is_daemon = string_or(controller, "kind", "") == "DaemonSet";
    const Json& annotations = member(metadata, "annotations");
    facts.is_mirror = annotations.is_object() && annotations.contains("kubernetes.io/config.mirror");
    if (facts.is_mirror)
        facts.static_uid = string_or(annotations, "kubernetes.io/config.hash", "");
    facts.is_operand = selects_operand(spec);
    facts.started = kube_seconds(string_or(status, "startTime", "")).value_or(0);
    facts.grace_ends = kube_seconds(string_or(metadata, "deletionTimestamp", "")).value_or(0);
    const Json& volumes = list_of(spec, "volumes");
    facts.has_empty_dir = std::any_of(volumes.begin(), volumes.end(),
                                      [](const Json& v) { return v.is_object() && v.contains("emptyDir"); });
    return facts;
}

PodChoice choose_pods(const std::map<std::string, PodFacts>& pods, UpgradeAct act,
                      const UpgradePolicy& policy) {
    Choice made(act, policy);
    for (const auto& [uid, pod] : pods)
        made.take(pod);
    return std::move(made.choice);
}

std::string budget_in_the_way(const Json& status) {
    for (const Json& cause : list_of(member(status, "details"), "causes"))
        if (string_or(cause, "reason", "") == "DisruptionBudget")
            return string_or(cause, "message", "");
    return {};
}

} // namespace gpuhost::cluster
