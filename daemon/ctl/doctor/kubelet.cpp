// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/doctor/doctor.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/devices/list_strategy.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

/// Returns why pods do not get the GPUs that the kubelet has; empty if they do.
std::string without_strategy(const DoctorFacts& facts, const Json& observed) {
    const auto words = base::strings_or_empty(base::member(observed, "inputs"), "device_list_strategy");
    const auto strategies = devices::list_strategies(words); // none without a driver
    if (!strategies || devices::uses_cdi(*strategies) || facts.runtimes_without_nvidia.empty())
        return "";
    return "DeviceListStrategy=" + base::join(words, " ") +
           " requires NVIDIA's runtime, which is not in: " + base::join(facts.runtimes_without_nvidia, ", ");
}

} // namespace

Diagnosis check_kubelet(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    const Json& component = base::member(base::member(facts.host, "components"), "devices");
    const Json& observed = base::member(component, "observed");
    if (!observed.is_object())
        return skipped("gpuhostd does not answer");
    if (!base::bool_or(observed, "serve", false))
        return skipped("Serve=off in section [Devices]");
    if (const Json& why = base::member(base::member(component, "plan"), "undecided"); why.is_object())
        return error(text_of(why, "text"), text_of(why, "hint"));
    const Serving serving = serving_of(observed);
    const std::string text = "the kubelet " + serving.text;
    if (!serving.ok)
        return error(text, serving.next);
    const std::string why = without_strategy(facts, observed);
    return why.empty()
               ? well(text)
               : warning(text + ", but " + why,
                         "set Classes=nvidia in section [Runtime], or add cdi-cri to DeviceListStrategy=; "
                         "gpuhostctl reload; gpuhostctl apply");
}

Diagnosis check_health(const DoctorFacts& facts) {
    if (!facts.is_host)
        return skipped("this is a mounted system");
    const Json& component = base::member(base::member(facts.host, "components"), "devices");
    const Json& observed = base::member(component, "observed");
    if (!observed.is_object())
        return skipped("gpuhostd does not answer");
    if (!base::bool_or(observed, "serve", false))
        return skipped("Serve=off in section [Devices]");
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
