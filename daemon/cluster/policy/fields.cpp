// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/fields.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/toolkit_tag.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {

using base::Json;

namespace {

using enum FieldKind;

/// The GPU Operator's own fields have the defaults of its CRD.
constexpr std::array fields{
    PolicyField{"driver.enabled", Boolean, "true"},
    PolicyField{"driver.version", Version, R"("")"},
    PolicyField{"driver.upgradePolicy.autoUpgrade", Boolean, "false"},
    PolicyField{"driver.upgradePolicy.maxParallelUpgrades", Count, "1"},
    PolicyField{"driver.upgradePolicy.maxUnavailable", CountOrShare, R"("25%")"},
    PolicyField{"driver.upgradePolicy.waitForCompletion.podSelector", Text, R"("")"},
    PolicyField{"driver.upgradePolicy.waitForCompletion.timeoutSeconds", Seconds, "0"},
    PolicyField{"driver.upgradePolicy.podDeletion.force", Boolean, "false"},
    PolicyField{"driver.upgradePolicy.podDeletion.timeoutSeconds", Seconds, "300"},
    PolicyField{"driver.upgradePolicy.podDeletion.deleteEmptyDir", Boolean, "false"},
    PolicyField{"driver.upgradePolicy.drain.enable", Boolean, "false"},
    PolicyField{"driver.upgradePolicy.drain.force", Boolean, "false"},
    PolicyField{"driver.upgradePolicy.drain.podSelector", Text, R"("")"},
    PolicyField{"driver.upgradePolicy.drain.timeoutSeconds", Seconds, "300"},
    PolicyField{"driver.upgradePolicy.drain.deleteEmptyDir", Boolean, "false"},
    PolicyField{"driver.manager.env.ENABLE_GPU_POD_EVICTION", Boolean, "true"},
    PolicyField{"driver.manager.env.ENABLE_AUTO_DRAIN", Boolean, "false"},
    PolicyField{"driver.manager.env.DRAIN_USE_FORCE", Boolean, "false"},
    PolicyField{"driver.manager.env.DRAIN_POD_SELECTOR_LABEL", Text, R"("")"},
    PolicyField{"driver.manager.env.DRAIN_TIMEOUT_SECONDS", Seconds, "0"},
    PolicyField{"driver.manager.env.DRAIN_DELETE_EMPTYDIR_DATA", Boolean, "false"},
    PolicyField{"toolkit.enabled", Boolean, "true"},
    PolicyField{"toolkit.version", ToolkitImage, R"("")"},
    PolicyField{"rollout.maxParallelUpgrades", Count, "0"},
    PolicyField{"rollout.countUnavailable", Choice, R"("candidates")", "candidates all"},
    PolicyField{"rollout.failureBudget", CountOrShare, R"("10%")"},
    PolicyField{"rollout.retries", Count, "2"},
    PolicyField{"rollout.retryDelaySeconds", Seconds, "60"},
    PolicyField{"rollout.rollback", Boolean, "true"},
    PolicyField{"rollout.reboot", Choice, R"("never")", "never when-required"},
    PolicyField{"rollout.pdb", Choice, R"("respect")", "respect override-after-timeout"},
    PolicyField{"rollout.silenceSeconds", Seconds, "600"},
    PolicyField{"rollout.onSilence", Choice, R"("keep")", "keep release"},
    PolicyField{"rollout.swapTimeoutSeconds", Seconds, "1200"},
    PolicyField{"rollout.validationTimeoutSeconds", Seconds, "600"},
    PolicyField{"rollout.topologyKey", Text, R"("")"},
    PolicyField{"rollout.windows", List, "[]"},
    PolicyField{"rollout.gates", List, "[]"},
    PolicyField{"rollout.waves", List, "[]"},
    PolicyField{"rollout.pools", List, "[]"},
};

bool is_count(const Json& value) {
    constexpr std::int64_t most = 1'000'000'000;
    return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= most;
}

bool is_share(const Json& value) {
    if (!value.is_string())
        return false;
    const auto& text = value.get_ref<const std::string&>();
    const bool percent = base::ends_with(text, "%");
    const auto number = base::parse_uint(percent ? text.substr(0, text.size() - 1) : text);
    return number && (percent ? *number <= 100 : *number <= 1'000'000'000);
}

} // namespace

std::span<const PolicyField> policy_fields() {
    return fields;
}

const PolicyField* find_field(std::string_view path) {
    const auto* const found =
        std::find_if(fields.begin(), fields.end(), [&](const PolicyField& f) { return f.path == path; });
    return found == fields.end() ? nullptr : found;
}

bool has_fields_below(std::string_view path) {
    return std::any_of(fields.begin(), fields.end(), [&](const PolicyField& field) {
        return base::starts_with(field.path, path) && field.path.size() > path.size() &&
               field.path[path.size()] == '.';
    });
}

std::string nearest_field(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    const std::string above(path.substr(0, dot == std::string_view::npos ? 0 : dot + 1));
    std::vector<std::string> names;
    for (const PolicyField& field : fields)
        if (base::starts_with(field.path, above))
            names.push_back(base::split(field.path.substr(above.size()), '.').front());
    const std::string near = base::nearest(path.substr(above.size()), names);
    return near.empty() ? near : above + near;
}

std::string wrong_value(const PolicyField& field, const Json& value) {
    switch (field.kind) {
    case Boolean:
        return value.is_boolean() ? "" : "true or false";
    case Count:
        return is_count(value) ? "" : "a whole number from 0";
    case Seconds:
        return is_count(value) ? "" : "a whole number of seconds from 0";
    case CountOrShare:
        return is_count(value) || is_share(value) ? ""
                                                  : "a whole number from 0, or a percentage such as \"25%\"";
    case Text:
        return value.is_string() ? "" : "a string";
    case List:
        return value.is_array() ? "" : "a list";
    case Version:
        if (value.is_string() && (value.get_ref<const std::string&>().empty() ||
                                  base::is_driver_version(value.get_ref<const std::string&>())))
            return "";
        return "a driver version such as \"550.163.01\", as a string";
    case ToolkitImage:
        if (value.is_string() && (value.get_ref<const std::string&>().empty() ||
                                  !toolkit_version_of(value.get_ref<const std::string&>()).empty()))
            return "";
        return "a toolkit version or image tag such as \"v1.17.8-ubuntu20.04\", as a string";
    case Choice:
        break;
    }
    const auto choices = base::split_words(field.choices);
    if (value.is_string() &&
        std::find(choices.begin(), choices.end(), value.get_ref<const std::string&>()) != choices.end())
        return "";
    return "one of: " + base::join(choices, ", ");
}

} // namespace gpuhost::cluster
