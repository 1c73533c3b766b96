// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/readiness.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/shortened.hpp"

#include <algorithm>
#include <cctype>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr std::size_t most_message = 1024; ///< bytes of a condition's message; many clients read a Node

Condition condition(std::string_view type, std::string_view status, std::string reason, std::string message) {
    return make_condition(type, status, std::move(reason), std::move(message));
}

/// Converts "reboot-required" to the form of Kubernetes' reasons: "RebootRequired".
std::string camel_case(std::string_view word) {
    std::string made;
    bool upper = true;
    for (const char c : word) {
        if (c == '-') {
            upper = true;
            continue;
        }
        made += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        upper = false;
    }
    return made;
}

std::string with_hint(const std::string& text, const std::string& hint) {
    return hint.empty() ? text : text + ". " + hint;
}

/// Returns a condition for the error or the problems of a component; nullopt if there are none. After an
/// error the component's state is unknown. With problems it cannot reach the configured state.
std::optional<Condition> in_its_way(std::string_view type, const Json& component) {
    if (const Json& error = member(component, "error"); error.is_object())
        return condition(type, "Unknown", camel_case(string_or(error, "code", "failed")),
                         with_hint(string_or(error, "message", ""), string_or(error, "hint", "")));
    const Json& problems = member(member(component, "plan"), "problems");
    if (problems.is_array() && !problems.empty())
        return condition(
            type, "False", camel_case(string_or(problems.front(), "code", "failed")),
            with_hint(string_or(problems.front(), "text", ""), string_or(problems.front(), "hint", "")));
    return std::nullopt;
}

/// Returns the title of the changes that 'gpuhostctl apply' would make to a component; empty if there are
/// none.
std::string pending(const Json& component) {
    const Json& plan = member(component, "plan");
    const Json& steps = member(plan, "steps");
    return steps.is_array() && !steps.empty() ? string_or(plan, "title", "something") : "";
}

/// GPUs by their kernel driver. A GPU with another driver, such as vfio-pci, is in neither member.
struct ServedGpus {
    std::size_t served = 0;
    std::vector<std::string> unserved; ///< PCI addresses
};

ServedGpus served_gpus(const Json& gpus) {
    ServedGpus made;
    for (const Json& gpu : gpus)
        if (const std::string driver = string_or(gpu, "driver", ""); driver == "nvidia")
            ++made.served;
        else if (driver.empty() || driver == "nouveau")
            made.unserved.push_back(string_or(gpu, "address", ""));
    return made;
}

/// Returns "2 GPUs", or "7 of 8 GPUs; not served: 0000:65:00.0".
std::string describe(const ServedGpus& gpus) {
    const std::size_t all = gpus.served + gpus.unserved.size();
    std::string text = std::to_string(all) + (all == 1 ? " GPU" : " GPUs");
    if (gpus.unserved.empty())
        return text;
    return std::to_string(gpus.served) + " of " + text + "; not served: " + base::join(gpus.unserved, ", ");
}

/// Returns the condition of the loaded driver. This driver may differ from the configured one: until its
/// upgrade, the loaded driver still serves the GPUs.
Condition driver_condition(const Json& component, std::size_t gpus, std::string_view state) {
    const Json& observed = member(component, "observed");
    const std::string loaded = string_or(observed, "loaded_version", "");
    const std::string selected = string_or(member(observed, "selected"), "version", "");
    if (member(component, "error").is_object())
        return *in_its_way(driver_ready, component);
    if (gpus == 0)
        return condition(driver_ready, "True", std::string(no_gpu_reason), "this host has no NVIDIA GPU");
    const std::string configured = string_or(observed, "configured", "");
    if (configured == "off")
        return condition(driver_ready, "True", "NotManaged",
                         "the driver of this host is not gpuhostd's (Version=off)");
    if (configured == "preinstalled")
        if (const auto why = in_its_way(driver_ready, component))
            return *why;
    if (loaded.empty()) {
        const auto why = in_its_way(driver_ready, component);
        const std::string next = pending(component);
        return why ? *why
                   : condition(driver_ready, "False", "NotLoaded",
                               next.empty() ? "no NVIDIA driver is loaded"
                                            : "no NVIDIA driver is loaded, pending: " + next);
    }
    if (!selected.empty() && selected != loaded)
        return condition(driver_ready, "False",
                         state == "reboot-required" ? "RebootRequired" : "OtherSelected",
                         "the kernel runs driver " + loaded + ", the libraries are of version " + selected);
    if (string_or(observed, "autoload", "allowed") != "allowed" ||
        !base::bool_or(observed, "devices_complete", true))
        return condition(driver_ready, "False", "NoDevices",
                         "driver " + loaded + " is loaded, but device nodes are missing");
    const ServedGpus served = served_gpus(member(observed, "gpus"));
    if (served.served == 0 && !served.unserved.empty())
        return condition(driver_ready, "False", "NotServed",
                         "driver " + loaded + " serves " + describe(served));
    const std::string next = pending(component);
    return condition(driver_ready, "True", "Loaded",
                     "driver " + loaded + " serves " + describe(served) +
                         (next.empty() ? "" : "; pending: " + next));
}

/// Returns a condition for the first container runtime whose containers get no GPUs, or get them only after a
/// pending change. Returns nullopt if the containers of all runtimes get GPUs. If a runtime serves the
/// kubelet (CRI), runtimes that do not serve it are ignored.
std::optional<Condition> unready_runtime(const Json& observed) {
    const Json runtimes = observed.is_array() ? observed : Json::array();
    const auto serves_cri = [](const Json& runtime) { return base::bool_or(runtime, "serves_cri", true); };
    const bool is_any_cri = std::any_of(runtimes.begin(), runtimes.end(), serves_cri);
    for (const Json& runtime : runtimes) {
        if (is_any_cri && !serves_cri(runtime))
            continue;
        const std::string state = string_or(runtime, "state", "");
        const std::string words = string_or(runtime, "name", "") + ": ";
        if (state == "problem" || state == "by-hand")
            return condition(runtime_ready, "False", camel_case(state),
                             words + string_or(runtime, "text", ""));
        if (base::bool_or(runtime, "withholds_gpus", false))
            return condition(runtime_ready, "False", "RestartWanted",
                             words + string_or(runtime, "restart_text", ""));
    }
    return std::nullopt;
}

/// Returns true if Podman is the only runtime that was found. Kubelets can't use it. As with an empty list,
/// there may be a runtime that gpuhostd doesn't know, but more often the node's runtime is missing.
bool is_only_podman(const Json& runtimes) {
    return runtimes.is_array() && !runtimes.empty() &&
           std::all_of(runtimes.begin(), runtimes.end(),
                       [](const Json& runtime) { return string_or(runtime, "kind", "") == "podman"; });
}

/// Returns the condition of CDI, the toolkit and the runtime. A container gets its GPUs by a CDI
/// specification, or by a runtime class if the runtime does not support CDI.
Condition runtime_condition(const Json& components, std::size_t gpus) {
    const Json& cdi = member(member(components, "cdi"), "observed");
    const Json& record = member(cdi, "record");
    if (const std::string problem = string_or(record, "problem", "");
        gpus > 0 && base::bool_or(cdi, "enable", true) && !problem.empty())
        return condition(runtime_ready, "False", "DevicesMissing", problem);
    for (const std::string_view name : {"cdi", "toolkit", "runtime"})
        if (const auto why = in_its_way(runtime_ready, member(components, name)))
            return *why;
    const Json& runtimes = member(member(member(components, "runtime"), "observed"), "runtimes");
    if (const auto unready = unready_runtime(runtimes))
        return *unready;
    for (const std::string_view name : {"cdi", "toolkit", "runtime"})
        if (const std::string next = pending(member(components, name)); gpus > 0 && !next.empty())
            return condition(runtime_ready, "False", "Pending", next);
    if (gpus > 0 && is_only_podman(runtimes))
        return condition(
            runtime_ready, "False", "NoRuntime",
            "the only container runtime found is Podman, which a kubelet can't use. If this kubelet uses "
            "one that gpuhostd doesn't know, set ReadyWhen=driver in gpuhostd.conf");
    return condition(runtime_ready, "True", "AsConfigured",
                     gpus == 0 ? "no GPUs to provide to containers"
                               : "containers get the GPUs that they request");
}

Condition images_condition(const Json& component) {
    if (const auto why = in_its_way(images_ready, component))
        return *why;
    const Json& observed = member(component, "observed");
    if (const Json& damaged = member(member(observed, "scrub"), "damaged");
        damaged.is_array() && !damaged.empty())
        return condition(images_ready, "False", "Damaged",
                         std::to_string(damaged.size()) +
                             " blobs of bundles are damaged on this host's disk");
    const Json& placement = member(observed, "placement");
    const Json& images = member(placement, "images");
    for (const Json& image : images.is_array() ? images : Json::array())
        if (const std::string state = string_or(image, "state", ""); state == "failed" || state == "wanted")
            return condition(images_ready, "False", state == "failed" ? "PullFailed" : "NotPulled",
                             string_or(image, "name", "") + ": " + string_or(image, "why", ""));
    if (const auto absent = base::strings_or_empty(placement, "absent"); !absent.empty())
        return condition(images_ready, "False", "Absent",
                         "no bundle on this host contains " + base::join(absent, ", "));
    if (const std::string next = pending(component); !next.empty())
        return condition(images_ready, "False", "Pending", next);
    return condition(images_ready, "True", "Present", "the images of this host's bundles are present");
}

} // namespace

Condition make_condition(std::string_view type, std::string_view status, std::string reason,
                         std::string message) {
    return {std::string(type), std::string(status), std::move(reason),
            shortened(std::move(message), most_message)};
}

const Condition* Readiness::find(std::string_view type) const {
    const auto found = std::find_if(conditions.begin(), conditions.end(),
                                    [type](const Condition& c) { return c.type == type; });
    return found == conditions.end() ? nullptr : &*found;
}

namespace {

const Json& gpus_of(const Json& host) {
    return member(member(member(member(host, "components"), "driver"), "observed"), "gpus");
}

/// Returns true if an absent offer to the kubelet is final: gpuhostd has no offer to make, and either serves
/// none or sees a driver. A pending change of the driver may wait for weeks, so it does not count.
bool is_settled(const Json& devices) {
    const Json& observed = member(devices, "observed");
    const bool is_planned = member(devices, "plan").is_object() && !member(devices, "error").is_object();
    return is_planned && pending(devices).empty() &&
           (!base::bool_or(observed, "serve", true) ||
            !string_or(member(observed, "inputs"), "driver", "").empty());
}

} // namespace

Condition driver_condition_of(const Json& host) {
    const Json& gpus = gpus_of(host);
    return driver_condition(member(member(host, "components"), "driver"), gpus.is_array() ? gpus.size() : 0,
                            string_or(host, "state", ""));
}

Readiness readiness_of(const Json& host) {
    Readiness made;
    const Json& components = member(host, "components");
    const Json& gpus = gpus_of(host);
    const std::string state = string_or(host, "state", "");
    if (state == "starting")
        return made;
    const std::size_t count = gpus.is_array() ? gpus.size() : 0;
    if (gpus.is_array())
        made.gpus = count;
    made.settled = state != "busy" && is_settled(member(components, "devices"));
    const Condition driver = driver_condition_of(host);
    // During an operation, report the driver only if it does not work, because a working driver may still
    // change. The state of the components that depend on it is known only after the operation.
    if (state != "busy" || driver.status != "True")
        made.conditions.push_back(driver);
    if (state != "busy") {
        made.conditions.push_back(runtime_condition(components, count));
        made.conditions.push_back(images_condition(member(components, "images")));
    }
    return made;
}

Readiness readiness_without_daemon(const base::Error& why) {
    Readiness made;
    for (const std::string_view type : {driver_ready, runtime_ready, images_ready})
        made.conditions.push_back(
            condition(type, "Unknown", "DaemonStopped", with_hint(why.message, why.hint)));
    return made;
}

} // namespace gpuhost::cluster
