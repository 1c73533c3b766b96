// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/doctor/doctor.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/devices/list_strategy.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

/// Why pods do not get the GPUs that the kubelet has, and what to do. Empty: they do.
struct Lack {
    std::string text;
    std::string next;
};

/// NVIDIA's runtime reads mounts first, and the variable has the directory of the mounts then.
Lack lack_of_option(const runtime::AcceptedRequests& accepted, bool by_mounts) {
    if (by_mounts ? accepted.volume_mounts : accepted.envvar)
        return {};
    const std::string option(by_mounts ? runtime::mounts_option : runtime::envvar_option);
    const std::string cause = option + " is false in " + accepted.file;
    return {by_mounts ? "DeviceListStrategy=volume-mounts has no effect: " + cause
                      : "DeviceListStrategy=envvar gives no GPU to unprivileged pods: " + cause,
            accepted.ours ? "add " + option +
                                "=true to Options= in section [Toolkit]; gpuhostctl reload; gpuhostctl apply"
                          : "set " + option + " = true in " + accepted.file};
}

Lack lack_of_strategy(const DoctorFacts& facts, const Json& observed) {
    const auto words = base::strings_or_empty(base::member(observed, "inputs"), "device_list_strategy");
    const auto strategies = devices::list_strategies(words); // none without a driver
    if (!strategies || devices::uses_cdi(*strategies))
        return {};
    if (!facts.runtimes_without_nvidia.empty())
        return {"DeviceListStrategy=" + base::join(words, " ") +
                    " requires NVIDIA's runtime, which is not in: " +
                    base::join(facts.runtimes_without_nvidia, ", "),
                "set Classes=nvidia in section [Runtime], or add cdi-cri to DeviceListStrategy=; "
                "gpuhostctl reload; gpuhostctl apply"};
    for (const runtime::AcceptedRequests& accepted : facts.accepted_requests)
        if (Lack lack = lack_of_option(accepted, strategies->contains(devices::ListStrategy::volume_mounts));
            !lack.text.empty())
            return lack;
    if (!facts.accepted_unseen.empty())
        return {"NVIDIA's runtime can't use its options: " + facts.accepted_unseen, "correct the file"};
    return {};
}

/// Returns why the host offers no GPU to the kubelet; empty if it does.
std::string why_not_served(const DoctorFacts& facts, const Json& observed) {
    if (!facts.is_host)
        return "this is a mounted system";
    if (!observed.is_object())
        return "gpuhostd does not answer";
    return base::bool_or(observed, "serve", false) ? "" : "Serve=off in section [Devices]";
}

} // namespace

Diagnosis check_kubelet(const DoctorFacts& facts) {
    const Json& component = base::member(base::member(facts.host, "components"), "devices");
    const Json& observed = base::member(component, "observed");
    if (const std::string why = why_not_served(facts, observed); !why.empty())
        return skipped(why);
    if (const Json& why = base::member(base::member(component, "plan"), "undecided"); why.is_object())
        return error(text_of(why, "text"), text_of(why, "hint"));
    const Serving serving = serving_of(observed);
    const std::string text = "the kubelet " + serving.text;
    if (!serving.ok)
        return error(text, serving.next);
    const Lack lack = lack_of_strategy(facts, observed);
    return lack.text.empty() ? well(text) : warning(text + ", but " + lack.text, lack.next);
}

Diagnosis check_health(const DoctorFacts& facts) {
    const Json& component = base::member(base::member(facts.host, "components"), "devices");
    const Json& observed = base::member(component, "observed");
    if (const std::string why = why_not_served(facts, observed); !why.empty())
        return skipped(why);
    if (!base::member(observed, "answer").is_object())
        return skipped("gpuhost-devices does not run");
    const Unhealthy unhealthy = unhealthy_of(observed);
    const Unhealthy undetected = undetected_of(observed);
    if (!unhealthy.text.empty())
        return warning(unhealthy.text + (undetected.text.empty() ? "" : "; " + undetected.text),
                       unhealthy.next);
    return undetected.text.empty() ? well("no device is unhealthy")
                                   : warning(undetected.text, undetected.next);
}

} // namespace gpuhost::ctl
