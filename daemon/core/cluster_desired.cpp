// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/cluster_desired.hpp"

#include "daemon/base/ini.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

namespace gpuhost::core {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view section = "Toolkit";
constexpr std::string_view key = "Version";

Result<std::string> text_of(const Json& value, const char* name, bool (*is_good)(std::string_view)) {
    const Json& text = base::member(value, name);
    if (text.is_null())
        return std::string();
    if (text.is_string() && is_good(text.get_ref<const std::string&>()))
        return text.get<std::string>();
    return base::fail(Errc::InvalidArgument, "cluster's desired state: not a valid '" + std::string(name) +
                                                 "': " + base::dump(text));
}

} // namespace

Result<ClusterDesired> cluster_desired_from_json(const Json& value) {
    if (!value.is_object())
        return base::fail(Errc::InvalidArgument, "cluster's desired state: not a JSON object");
    for (const auto& [name, wanted] : value.items())
        if (name != "toolkit" && name != "driver" && name != "scheduled")
            return base::fail(Errc::InvalidArgument, "cluster's desired state: unknown key '" + name + "'");
    GPUHOST_TRY(toolkit, text_of(value, "toolkit", base::is_toolkit_version));
    GPUHOST_TRY(driver, text_of(value, "driver", base::is_driver_version));
    GPUHOST_TRY(scheduled, text_of(value, "scheduled", base::is_driver_version));
    return ClusterDesired{toolkit, driver, scheduled};
}

Json to_json(const ClusterDesired& desired) {
    Json value = Json::object();
    if (!desired.toolkit.empty())
        value["toolkit"] = desired.toolkit;
    if (!desired.driver.empty())
        value["driver"] = desired.driver;
    if (!desired.scheduled.empty())
        value["scheduled"] = desired.scheduled;
    return value;
}

std::string settings_text(const ClusterDesired& desired) {
    if (desired.toolkit.empty())
        return {};
    return "# Written by gpuhostd from the cluster's policy. A setting in any other file overrides it.\n[" +
           std::string(section) + "]\n" + std::string(key) + "=" + desired.toolkit + "\n";
}

ClusterDesired cluster_desired_from_settings(std::string_view text) {
    ClusterDesired desired;
    for (const base::IniEntry& entry : base::parse_ini(text).entries)
        if (entry.section == section && entry.key == key && base::is_toolkit_version(entry.value))
            desired.toolkit = entry.value;
    return desired;
}

} // namespace gpuhost::core
