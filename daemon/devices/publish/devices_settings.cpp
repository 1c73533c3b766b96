// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/devices_settings.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::devices {

using base::Json;
using core::SettingKey;
using core::SettingType;

namespace {

constexpr std::size_t longest_domain = 253;
constexpr std::size_t longest_name = 63;
constexpr std::size_t longest_root = 60;
constexpr std::size_t longest_path = 107; ///< of a socket: sun_path without its end

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Returns true if the text begins and ends with a letter or digit, and has only these and `more` between.
bool is_label(std::string_view text, std::string_view more) {
    return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return is_alphanumeric(c) || more.find(c) != std::string_view::npos; });
}

bool is_domain(std::string_view text) {
    const bool is_lower = std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    const auto labels = base::split(text, '.');
    return is_lower && text.size() <= longest_domain &&
           std::all_of(labels.begin(), labels.end(),
                       [](const std::string& one) { return is_label(one, "-"); });
}

std::string path_mistake(std::string_view value) {
    const auto parts = base::split(value, '/');
    if (!base::starts_with(value, "/") || value.size() < 2 || base::ends_with(value, "/") ||
        std::any_of(parts.begin() + 1, parts.end(),
                    [](const std::string& part) { return part.empty() || part == "." || part == ".."; }))
        return "is not an absolute path without '//', '.', '..' and a '/' at its end";
    return "";
}

/// gpuhostd's sandbox has other files there, or none.
std::string file_mistake(std::string_view value) {
    if (value.empty())
        return "";
    for (const std::string_view hidden : {"/root/", "/home/", "/tmp/", "/var/tmp/", "/run/user/"})
        if (base::starts_with(value, hidden))
            return "is below /root, /home, /tmp, /var/tmp or /run/user, which gpuhostd can't read";
    return path_mistake(value);
}

std::string root_mistake(std::string_view value) {
    if (std::string why = path_mistake(value); !why.empty())
        return why;
    if (value.size() > longest_root)
        return "is longer than " + std::to_string(longest_root) + " characters";
    return "";
}

/// Returns the valid numbers of a list, sorted.
std::vector<unsigned> xids_of(const std::vector<std::string>& words) {
    std::vector<unsigned> xids;
    for (const std::string& word : words)
        if (const auto xid = base::parse_uint(word); xid && *xid > 0 && *xid <= largest_xid)
            xids.push_back(static_cast<unsigned>(*xid));
    std::sort(xids.begin(), xids.end());
    xids.erase(std::unique(xids.begin(), xids.end()), xids.end());
    return xids;
}

std::string xids_mistake(std::string_view value) {
    for (const std::string& word : base::split_words(value))
        if (xids_of({word}).empty())
            return "has '" + word + "', which is not the number of an Xid";
    return "";
}

/// Returns the length of the longest path by which the kubelet connects to gpuhost-devices for a resource
/// whose name has `name` characters.
std::size_t socket_length(const DevicesSettings& settings, std::size_t name) {
    constexpr std::string_view number = "-1234567890123456"; // CLOCK_MONOTONIC in microseconds
    return name + sizeof ".sock" - 1 +
           std::max(settings.kubelet_root.size() + sizeof "/plugins_registry/gpuhost/" - 1,
                    sizeof "/run/gpuhost-devices/" - 1 + number.size());
}

std::size_t longest_socket(const DevicesSettings& settings) {
    constexpr std::string_view mig = "mig-1c.4g.141gb.me.all";
    std::size_t name = settings.resource.size();
    if (settings.mig == MigStrategy::mixed)
        name = std::max(name, settings.resource.find('/') + 1 + mig.size());
    return socket_length(settings, name);
}

std::string fatal_mistake(std::string_view value) {
    for (const unsigned xid : xids_of(base::split_words(value)))
        if (xid == 154)
            return "has 154, by which the driver requires an action or none";
    return xids_mistake(value);
}

std::string strategies_mistake(std::string_view value) {
    return list_strategies_mistake(base::split_words(value));
}

constexpr std::array keys{
    SettingKey{"Devices", "Serve", SettingType::Choice, "off", "off plugin",
               "whether gpuhostd offers the GPUs to the kubelet, as a device plugin"},
    SettingKey{"Devices", "ResourceName", SettingType::String, "nvidia.com/gpu", "",
               "name by which pods request a GPU", "", resource_mistake},
    SettingKey{"Devices", "KubeletRoot", SettingType::String, "/var/lib/kubelet", "",
               "root directory of the kubelet", "", root_mistake},
    SettingKey{"Devices", "MigStrategy", SettingType::Choice, "none", "none single mixed",
               "how MIG instances are offered"},
    SettingKey{"Devices", "KeepMig", SettingType::Boolean, "yes", "",
               "create MIG instances again after a restart of the host"},
    SettingKey{"Devices", "IgnoreXids", SettingType::Words, "", "",
               "errors of the driver that do not make a GPU unhealthy", "", xids_mistake},
    SettingKey{"Devices", "FatalXids", SettingType::Words, "", "",
               "errors of the driver that make a GPU unhealthy until a reboot or a clear", "", fatal_mistake},
    SettingKey{
        "Devices", "Labels", SettingType::Choice, "node", "no node nfd",
        "who labels the Node with facts of its GPUs: nobody, gpuhost-cluster or Node Feature Discovery"},
    SettingKey{"Devices", "UnhealthyTaint", SettingType::Boolean, "no", "",
               "let gpuhost-cluster taint the Node while a GPU is unhealthy"},
    SettingKey{
        "Devices", "DeviceListStrategy", SettingType::Words, "cdi-cri", "",
        "how container runtimes get the GPUs of a container: cdi-cri, cdi-annotations, envvar, volume-mounts",
        "", strategies_mistake},
    SettingKey{"Devices", "DeviceIDStrategy", SettingType::Choice, "uuid", id_strategy_names,
               "how container runtimes name a GPU"},
    SettingKey{"Devices", "PassDeviceSpecs", SettingType::Boolean, "no", "",
               "give containers the device nodes, too, if DeviceListStrategy= has envvar or volume-mounts"},
    SettingKey{"Devices", "ConfigFile", SettingType::String, "", "",
               "configuration of NVIDIA's device plugin, for its time slices; empty: no GPU is shared", "",
               file_mistake},
};

} // namespace

/// Kubernetes' rules for the names of extended resources.
std::string resource_mistake(std::string_view value) {
    const auto slash = value.find('/');
    const std::string_view domain = value.substr(0, slash);
    if (slash == std::string_view::npos || !is_domain(domain) || value.size() - slash - 1 > longest_name ||
        !is_label(value.substr(slash + 1), "-_."))
        return "is not a resource name of the form DOMAIN/NAME";
    if (domain == "kubernetes.io" || base::ends_with(domain, ".kubernetes.io") ||
        base::starts_with(domain, "requests."))
        return "is reserved for Kubernetes";
    return "";
}

bool renamed_socket_fits(const DevicesSettings& settings, std::string_view resource) {
    const std::size_t length = resource.size() + shared_suffix.size();
    return length - resource.find('/') - 1 <= longest_name && socket_length(settings, length) <= longest_path;
}

std::span<const SettingKey> devices_setting_keys() {
    return keys;
}

DevicesSettings devices_settings(const core::Settings& settings) {
    DevicesSettings values{
        settings.string("Devices", "Serve") == "plugin",
        settings.string("Devices", "ResourceName"),
        settings.string("Devices", "KubeletRoot"),
        mig_strategy(settings.string("Devices", "MigStrategy")).value_or(MigStrategy::none),
        xids_of(settings.words("Devices", "IgnoreXids")),
        xids_of(settings.words("Devices", "FatalXids")),
        label_mode(settings.string("Devices", "Labels")).value_or(LabelMode::node),
        settings.boolean("Devices", "UnhealthyTaint"),
        list_strategies(settings.words("Devices", "DeviceListStrategy"))
            .value_or(DevicesSettings().strategies),
        id_strategy(settings.string("Devices", "DeviceIDStrategy")).value_or(IdStrategy::uuid),
        settings.boolean("Devices", "PassDeviceSpecs"),
        settings.string("Devices", "ConfigFile"),
        {}};
    if (const std::string why = resource_mistake(values.resource); !why.empty())
        values.mistake = "ResourceName=" + values.resource + " " + why;
    else if (const std::string of_root = root_mistake(values.kubelet_root); !of_root.empty())
        values.mistake = "KubeletRoot=" + values.kubelet_root + " " + of_root;
    else if (const std::string words = settings.string("Devices", "DeviceListStrategy"),
             of_list = strategies_mistake(words);
             !of_list.empty())
        values.mistake = "DeviceListStrategy=" + words + " " + of_list;
    else if (const std::string of_file = file_mistake(values.config_file); !of_file.empty())
        values.mistake = "ConfigFile=" + values.config_file + " " + of_file;
    else if (const std::size_t length = longest_socket(values); length > longest_path)
        values.mistake = "ResourceName= and KubeletRoot= make a socket's path of " + std::to_string(length) +
                         " characters; the limit is " + std::to_string(longest_path);
    return values;
}

Json to_json(const DevicesSettings& settings) {
    return {{"serve", settings.serve},
            {"resource", settings.resource},
            {"kubelet_root", settings.kubelet_root},
            {"mig_strategy", name_of(settings.mig)},
            {"ignore_xids", settings.ignore_xids},
            {"fatal_xids", settings.fatal_xids},
            {"labels", name_of(settings.labels)},
            {"taint_unhealthy", settings.taint_unhealthy},
            {"device_list_strategy", names_of(settings.strategies)},
            {"device_id_strategy", name_of(settings.ids)},
            {"pass_device_specs", settings.pass_nodes},
            {"config_file", settings.config_file},
            {"mistake", settings.mistake}};
}

DevicesSettings devices_settings_from_json(const Json& value) {
    // Journals of earlier versions have no lists.
    const HealthRules rules = health_rules_from_json(value).value_or(HealthRules());
    return {base::bool_or(value, "serve", false),
            base::string_or(value, "resource", "nvidia.com/gpu"),
            base::string_or(value, "kubelet_root", "/var/lib/kubelet"),
            mig_strategy(base::string_or(value, "mig_strategy", "none")).value_or(MigStrategy::none),
            rules.ignore_xids,
            rules.fatal_xids,
            label_mode(base::string_or(value, "labels", "node")).value_or(LabelMode::node),
            base::bool_or(value, "taint_unhealthy", false),
            list_strategies_from_json(base::member(value, "device_list_strategy"))
                .value_or(DevicesSettings().strategies),
            id_strategy(base::string_or(value, "device_id_strategy", "uuid")).value_or(IdStrategy::uuid),
            base::bool_or(value, "pass_device_specs", false),
            base::string_or(value, "config_file", ""),
            base::string_or(value, "mistake", "")};
}

} // namespace gpuhost::devices
