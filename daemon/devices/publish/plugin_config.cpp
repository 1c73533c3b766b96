// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/plugin_config.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/publish/plugin_fields.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Json;
using base::member;

namespace {

constexpr const char* slicing = "sharing.timeSlicing";

bool is_uint(std::string_view text) {
    return base::parse_uint(text).has_value();
}

/// Returns true for the text form of a UUID: "b1028956-cfa2-0990-bf4a-5da9abb51763".
bool is_uuid(std::string_view text) {
    constexpr std::string_view form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return text.size() == form.size() &&
           std::equal(text.begin(), text.end(), form.begin(), [](char c, char of) {
               return of == '-' ? c == '-'
                                : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
           });
}

/// Returns true for an index, the index of a MIG device ("0:1") or a UUID.
bool is_device(const Json& value) {
    if (value.is_number_unsigned())
        return true;
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const std::vector<std::string> indices = base::split(text, ':');
    if (is_uint(text) || (indices.size() == 2 && is_uint(indices[0]) && is_uint(indices[1])))
        return true;
    if (base::starts_with(text, "GPU-") || !base::starts_with(text, "MIG-GPU-"))
        return text.size() > 4 && (base::starts_with(text, "GPU-") || base::starts_with(text, "MIG-")) &&
               is_uuid(std::string_view(text).substr(4));
    const std::vector<std::string> parts = base::split(text.substr(8), '/'); // as drivers before R470 have it
    return parts.size() == 3 && is_uuid(parts[0]) && is_uint(parts[1]) && is_uint(parts[2]);
}

class Reader {
  public:
    Reader(const base::YamlDocument& document, const DevicesSettings& settings)
        : config_(document.value), settings_(settings), problems_(settings.config_file, document.lines) {}

    PluginConfig read() && {
        if (check_map(config_, "", {"version", "flags", "resources", "sharing", "imex"}, problems_))
            check_version();
        check_other_fields(config_, settings_, problems_);
        read_flags();
        const Json& sharing = member(config_, "sharing");
        if (check_map(sharing, "sharing", {"timeSlicing", "mps"}, problems_) && sharing.is_object()) {
            if (!member(sharing, "mps").is_null())
                problems_.refuse("sharing.mps", "is not supported", "share by sharing.timeSlicing");
            if (sharing.contains("timeSlicing"))
                read_slicing(member(sharing, "timeSlicing"));
        }
        PluginConfig config{std::move(made_), problems_.all()};
        std::stable_sort(config.problems.begin(), config.problems.end(),
                         [](const auto& one, const auto& other) { return one.line < other.line; });
        return config;
    }

  private:
    void check_version() {
        const Json& version = member(config_, "version");
        if (!version.is_null() && version != "" && version != "v1")
            problems_.refuse("version", "must be v1");
    }

    void read_flags() {
        const Json& flags = member(config_, "flags");
        const Json& mig = member(flags, "migStrategy");
        if (!mig.is_null() && mig != std::string(name_of(settings_.mig))) {
            const bool is_known = mig.is_string() && mig_strategy(mig.get<std::string>());
            problems_.refuse("flags.migStrategy", is_known ? "is '" + mig.get<std::string>() +
                                                                 "', but section [Devices] has MigStrategy=" +
                                                                 std::string(name_of(settings_.mig))
                                                           : std::string("must be none, single or mixed"));
        }
        const Json& policy = member(member(flags, "plugin"), "sharedDevicesAllocationPolicy");
        made_.packed = policy == "packed";
        if (!policy.is_null() && policy != "packed" && policy != "distributed")
            problems_.refuse("flags.plugin.sharedDevicesAllocationPolicy", "must be distributed or packed");
    }

    bool read_flag(const Json& map, std::string_view key) {
        const Json& value = member(map, key);
        if (!value.is_null() && !value.is_boolean())
            problems_.refuse(field_path(slicing, key), "must be true or false");
        return value == true;
    }

    void read_slicing(const Json& value) {
        if (!check_map(value, slicing, {"renameByDefault", "failRequestsGreaterThanOne", "resources"},
                       problems_))
            return;
        made_.renamed = read_flag(value, "renameByDefault");
        made_.one_each = read_flag(value, "failRequestsGreaterThanOne");
        const Json& resources = member(value, "resources");
        if (!resources.is_array() || resources.empty())
            return problems_.refuse(slicing, "has no list of resources");
        for (std::size_t i = 0; i < resources.size(); ++i)
            read_resource(resources[i], std::string(slicing) + ".resources[" + std::to_string(i) + "]");
        if (!is_any_served_ && !problems_.is_refused())
            problems_.refuse(std::string(slicing) + ".resources", "has no '" + settings_.resource +
                                                                      "' and no MIG profile, so that no "
                                                                      "GPU would be shared");
    }

    void read_resource(const Json& value, const std::string& path) {
        if (!check_map(value, path, {"name", "rename", "devices", "replicas"}, problems_))
            return;
        const std::string name = read_name(value, path, "name");
        check_devices(member(value, "devices"), path + ".devices");
        if (value.is_object() && value.contains("rename"))
            check_rename(read_name(value, path, "rename"), name, path + ".rename");
        const Json& replicas = member(value, "replicas");
        if (!replicas.is_number_unsigned() || replicas < 2 || replicas > most_replicas)
            return problems_.refuse(path + ".replicas",
                                    "must be a number from 2 to " + std::to_string(most_replicas));
        if (replicas_of(made_, name) != 1)
            return problems_.refuse(path + ".name", "is listed twice: " + name);
        if (!name.empty())
            made_.resources.push_back({name, replicas.get<unsigned>()});
        check_served(name, path + ".name");
    }

    /// Returns a name with the domain nvidia.com if it has none; "" if it is refused.
    std::string read_name(const Json& map, const std::string& path, std::string_view key) {
        const Json& value = member(map, key);
        std::string name = value.is_string() ? value.get<std::string>() : "";
        if (name.find('/') == std::string::npos)
            name.insert(0, "nvidia.com/");
        const std::string why = resource_mistake(name);
        if (why.empty())
            return name;
        problems_.refuse(field_path(path, key), "is not the name of a resource");
        return "";
    }

    /// NVIDIA's device plugin ignores another name with a warning.
    void check_rename(const std::string& rename, const std::string& name, const std::string& path) {
        if (!rename.empty() && rename != (made_.renamed ? name + std::string(shared_suffix) : ""))
            problems_.ignore(path,
                             "has no effect, as in NVIDIA's device plugin: only renameByDefault renames");
    }

    /// NVIDIA's device plugin shares all devices in any case, with a warning.
    void check_devices(const Json& value, const std::string& path) {
        if (value.is_null() || value == "all")
            return;
        const bool is_list = value.is_array() && std::all_of(value.begin(), value.end(), is_device);
        if (!is_list && !(value.is_number_unsigned() && value > 0))
            return problems_.refuse(path, "must be all, a number of devices, or a list of indices and UUIDs");
        problems_.ignore(path, "has no effect, as in NVIDIA's device plugin: all devices are shared");
    }

    /// Names of MIG profiles that the host does not have are valid: hosts share the file.
    void check_served(const std::string& name, const std::string& path) {
        const std::string domain = settings_.resource.substr(0, settings_.resource.find('/') + 1);
        const bool is_served = name == settings_.resource || base::starts_with(name, domain + "mig-");
        is_any_served_ = is_any_served_ || is_served;
        if (!name.empty() && !is_served)
            problems_.ignore(path, "is '" + name + "', and the GPUs are " + settings_.resource);
        else if (made_.renamed && !renamed_socket_fits(settings_, name))
            problems_.refuse(path, "makes a socket's path too long with " + std::string(shared_suffix));
    }

    const Json& config_;
    const DevicesSettings& settings_;
    FieldProblems problems_;
    Sharing made_;
    bool is_any_served_ = false;
};

} // namespace

std::string PluginConfig::mistake() const {
    const auto found =
        std::find_if(problems.begin(), problems.end(), [](const auto& one) { return !one.ignored; });
    return found == problems.end() ? "" : core::to_string(*found);
}

PluginConfig parse_plugin_config(std::string_view text, const DevicesSettings& settings) {
    const auto documents = base::parse_yaml_documents(text, "");
    if (!documents) { // ": line 3: …"
        std::string why = documents.error().message.substr(2);
        unsigned line = 0;
        if (const std::size_t end = why.find(": ");
            base::starts_with(why, "line ") && end != std::string::npos) {
            line = static_cast<unsigned>(base::parse_uint(why.substr(5, end - 5)).value_or(0));
            why.erase(0, end + 2);
        }
        return {{}, {{settings.config_file, line, one_line(std::move(why)), "", false}}};
    }
    if (documents->size() > 1)
        return {{}, {{settings.config_file, 0, "has more than one YAML document", "", false}}};
    if (documents->empty())
        return {{}, {{settings.config_file, 0, "is empty", "without sharing: version: v1", false}}};
    return Reader(documents->front(), settings).read();
}

} // namespace gpuhost::devices
