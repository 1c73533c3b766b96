// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/state.hpp"

#include "daemon/runtime/cdi/inputs.hpp"
#include "daemon/runtime/cdi/publisher.hpp"

#include <array>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

constexpr auto driver_of = [](const Json& inputs) { return base::string_or(inputs, "driver", ""); };

struct Input {
    std::string_view key;
    std::string_view changed;
};
constexpr std::array input_names{Input{"gpuhost", "another version of gpuhostd wrote the specifications"},
                                 Input{"userland", "the driver's libraries have changed"},
                                 Input{"libraries", "the host's libraries have changed"},
                                 Input{"gpus", "the GPUs have changed"},
                                 Input{"instances", "the MIG instances have changed"},
                                 Input{"nodes", "the device nodes have changed"},
                                 Input{"sockets", "the sockets of the driver's daemons have changed"},
                                 Input{"files", "the configuration of GPUDirect Storage has changed"}};

/// Returns why the recorded specifications are outdated.
Texts differences(const CdiSettings& settings, const Json& inputs, const CdiRecord& record) {
    Texts found;
    const std::string then = driver_of(record.inputs);
    const std::string now = driver_of(inputs);
    if (then.empty())
        found.push_back("there are no CDI specifications for driver " + now);
    else if (then != now)
        found.push_back("the CDI specifications are for driver " + then + ", but " + now + " is loaded");
    for (const auto& [key, changed] : input_names)
        if (then == now && base::member(inputs, key) != base::member(record.inputs, key))
            found.emplace_back(changed);
    if (record.directory != settings.directory || record.groups_setting != settings.groups)
        found.emplace_back("the settings in section [CDI] have changed");
    if (record.failed)
        found.push_back(record.problem);
    return found;
}

/// Returns the reasons to run the step cdi.publish on a host without a record of specifications.
Texts reasons_to_observe(const Json& observed) {
    Texts reasons;
    for (const std::string& path : base::strings_or_empty(observed, "unrecorded"))
        reasons.push_back("'" + path + "' may be gpuhostd's, but is not recorded");
    return reasons;
}

/// Returns why recorded files must be removed, if there are any.
Texts reasons_for_none(const CdiSettings& settings, const CdiRecord& record) {
    if (record.files.empty())
        return {};
    return {settings.enable ? "no driver is loaded" : "section [CDI] has Manage=no"};
}

} // namespace

Json observe_cdi(const base::Root& host) {
    const auto record = read_cdi_record(host);
    return Json{{"inputs", cdi_inputs(host)},
                {"record", record ? to_json(*record) : Json()},
                {"unrecorded", unrecorded_paths(host)},
                {"missing", record ? missing_files(host, *record) : Texts()},
                {"changed", record ? changed_files(host, *record) : Texts()},
                {"programs", record ? changed_programs(host, *record) : Texts()}};
}

std::string observed_driver(const Json& observed) {
    return driver_of(base::member(observed, "inputs"));
}

Texts cdi_reasons(const CdiSettings& settings, const Json& observed) {
    const auto record = cdi_record_from_json(base::member(observed, "record"));
    const std::string driver = observed_driver(observed);
    if (!settings.enable || driver.empty())
        return record ? reasons_for_none(settings, *record) : reasons_to_observe(observed);
    Texts reasons = record ? differences(settings, base::member(observed, "inputs"), *record)
                           : Texts{"there are no CDI specifications for driver " + driver};
    for (const std::string& path : base::strings_or_empty(observed, "missing"))
        reasons.push_back("'" + path + "' is missing");
    for (const std::string& path : base::strings_or_empty(observed, "programs"))
        if (settings.groups == "auto")
            reasons.push_back("'" + path +
                              "' has changed, and its version decides which specifications runtimes read");
    for (const std::string& path : base::strings_or_empty(observed, "changed"))
        if (settings.repair)
            reasons.push_back("another program has changed '" + path + "'");
    return reasons;
}

} // namespace gpuhost::runtime
