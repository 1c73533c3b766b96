// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/yaml.hpp"
#include "daemon/runtime/cdi/spec.hpp"

#include <limits>
#include <set>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// An object of the document. finish() fails if the object has a member whose key was never passed to find().
class Object {
  public:
    [[nodiscard]] static Result<Object> of(const Json& value, std::string where) {
        if (!value.is_object())
            return base::fail(Errc::BadContent, where + ": is not an object");
        return Object(value, std::move(where));
    }

    [[nodiscard]] std::string place(std::string_view key) const { return where_ + "." + std::string(key); }

    /// Returns a member; nullptr if it is missing or null, which is the same for runtimes.
    [[nodiscard]] const Json* find(const char* key) {
        asked_.insert(key);
        const auto found = value_->find(key);
        return found == value_->end() || found->is_null() ? nullptr : &*found;
    }

    /// Reads a string. Accepts a number too: YAML has no quotes around "name: 0".
    [[nodiscard]] Result<void> take(const char* key, std::string& text) {
        const Json* const value = find(key);
        if (value != nullptr && value->is_number_integer())
            text = value->dump();
        else if (value != nullptr && value->is_string())
            text = value->get<std::string>();
        else if (value != nullptr)
            return wrong(key, "is not a string");
        return {};
    }

    [[nodiscard]] Result<void> require(const char* key, std::string& text) {
        if (find(key) == nullptr)
            return wrong(key, "is missing");
        return take(key, text);
    }

    template <class Number>
    [[nodiscard]] Result<void> take(const char* key, std::optional<Number>& number) {
        if (const Json* const value = find(key)) {
            GPUHOST_TRY(taken, integer<Number>(*value, place(key)));
            number = taken;
        }
        return {};
    }

    [[nodiscard]] Result<void> take(const char* key, std::int64_t& number) {
        std::optional<std::int64_t> taken;
        GPUHOST_CHECK(take(key, taken));
        number = taken.value_or(0);
        return {};
    }

    [[nodiscard]] Result<void> take(const char* key, bool& flag) {
        const Json* const value = find(key);
        if (value != nullptr && !value->is_boolean())
            return wrong(key, "is neither true nor false");
        flag = value != nullptr && value->get<bool>();
        return {};
    }

    [[nodiscard]] Result<void> take(const char* key, std::vector<std::string>& texts) {
        return each(key, [&](const Json& value, const std::string& where) -> Result<void> {
            if (!value.is_string())
                return base::fail(Errc::BadContent, where + ": is not a string");
            texts.push_back(value.get<std::string>());
            return {};
        });
    }

    [[nodiscard]] Result<void> take(const char* key, std::vector<std::uint32_t>& numbers) {
        return each(key, [&](const Json& value, const std::string& where) -> Result<void> {
            GPUHOST_TRY(number, integer<std::uint32_t>(value, where));
            numbers.push_back(number);
            return {};
        });
    }

    [[nodiscard]] Result<void> take(const char* key, std::map<std::string, std::string>& texts) {
        const Json* const value = find(key);
        if (value == nullptr)
            return {};
        if (!value->is_object())
            return wrong(key, "is not an object");
        for (const auto& [name, text] : value->items()) {
            if (!text.is_string())
                return wrong(key, "has a member that is not a string");
            texts.emplace(name, text.get<std::string>());
        }
        return {};
    }

    /// Reads a list. `read` converts an element to T.
    template <class T>
    [[nodiscard]] Result<void> read_all(const char* key, std::vector<T>& values,
                                        Result<T> (*read)(const Json&, const std::string&)) {
        return each(key, [&](const Json& value, const std::string& where) -> Result<void> {
            GPUHOST_TRY(made, read(value, where));
            values.push_back(std::move(made));
            return {};
        });
    }

    [[nodiscard]] Result<void> finish() const {
        for (const auto& [key, value] : value_->items())
            if (asked_.count(key) == 0)
                return wrong(key, "unknown key");
        return {};
    }

  private:
    Object(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

    [[nodiscard]] Result<void> wrong(std::string_view key, std::string_view what) const {
        return base::fail(Errc::BadContent, place(key) + ": " + std::string(what));
    }

    template <class Number>
    [[nodiscard]] static Result<Number> integer(const Json& value, const std::string& where) {
        const bool fits =
            value.is_number_unsigned()
                ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max())
                : value.is_number_integer() && std::numeric_limits<Number>::is_signed;
        if (!fits)
            return base::fail(Errc::BadContent, where + ": is not a number in the valid range");
        return value.get<Number>();
    }

    template <class Read>
    [[nodiscard]] Result<void> each(const char* key, Read take) {
        const Json* const list = find(key);
        if (list == nullptr)
            return {};
        if (!list->is_array())
            return wrong(key, "is not a list");
        for (std::size_t i = 0; i < list->size(); ++i)
            GPUHOST_CHECK(take((*list)[i], place(key) + "[" + std::to_string(i) + "]"));
        return {};
    }

    const Json* value_;
    std::string where_;
    std::set<std::string> asked_;
};

Result<SpecNode> read_node(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecNode node;
    GPUHOST_CHECK(object.require("path", node.path));
    GPUHOST_CHECK(object.take("hostPath", node.host_path));
    GPUHOST_CHECK(object.take("type", node.type));
    GPUHOST_CHECK(object.take("major", node.major));
    GPUHOST_CHECK(object.take("minor", node.minor));
    GPUHOST_CHECK(object.take("fileMode", node.file_mode));
    GPUHOST_CHECK(object.take("permissions", node.permissions));
    GPUHOST_CHECK(object.take("uid", node.uid));
    GPUHOST_CHECK(object.take("gid", node.gid));
    GPUHOST_CHECK(object.finish());
    return node;
}

Result<SpecMount> read_mount(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecMount mount;
    GPUHOST_CHECK(object.require("hostPath", mount.host_path));
    GPUHOST_CHECK(object.require("containerPath", mount.container_path));
    GPUHOST_CHECK(object.take("options", mount.options));
    GPUHOST_CHECK(object.take("type", mount.type));
    GPUHOST_CHECK(object.finish());
    return mount;
}

Result<SpecHook> read_hook(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecHook hook;
    GPUHOST_CHECK(object.require("hookName", hook.name));
    GPUHOST_CHECK(object.require("path", hook.path));
    GPUHOST_CHECK(object.take("args", hook.args));
    GPUHOST_CHECK(object.take("env", hook.env));
    GPUHOST_CHECK(object.take("timeout", hook.timeout));
    GPUHOST_CHECK(object.finish());
    return hook;
}

Result<SpecNetDevice> read_net_device(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecNetDevice device;
    GPUHOST_CHECK(object.require("hostInterfaceName", device.host_interface));
    GPUHOST_CHECK(object.require("name", device.name));
    GPUHOST_CHECK(object.finish());
    return device;
}

Result<SpecIntelRdt> read_intel_rdt(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecIntelRdt rdt;
    GPUHOST_CHECK(object.take("closID", rdt.clos_id));
    GPUHOST_CHECK(object.take("l3CacheSchema", rdt.l3_cache_schema));
    GPUHOST_CHECK(object.take("memBwSchema", rdt.mem_bw_schema));
    GPUHOST_CHECK(object.take("schemata", rdt.schemata));
    GPUHOST_CHECK(object.take("enableMonitoring", rdt.enable_monitoring));
    GPUHOST_CHECK(object.finish());
    return rdt;
}

Result<SpecEdits> read_edits(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecEdits edits;
    GPUHOST_CHECK(object.take("env", edits.env));
    GPUHOST_CHECK(object.read_all("deviceNodes", edits.nodes, read_node));
    GPUHOST_CHECK(object.read_all("netDevices", edits.net_devices, read_net_device));
    GPUHOST_CHECK(object.read_all("hooks", edits.hooks, read_hook));
    GPUHOST_CHECK(object.read_all("mounts", edits.mounts, read_mount));
    if (const Json* const rdt = object.find("intelRdt")) {
        GPUHOST_TRY(read, read_intel_rdt(*rdt, object.place("intelRdt")));
        edits.intel_rdt = std::move(read);
    }
    GPUHOST_CHECK(object.take("additionalGids", edits.additional_gids));
    GPUHOST_CHECK(object.finish());
    return edits;
}

Result<void> read_edits(Object& object, SpecEdits& edits) {
    if (const Json* const value = object.find("containerEdits")) {
        GPUHOST_TRY(read, read_edits(*value, object.place("containerEdits")));
        edits = std::move(read);
    }
    return {};
}

Result<SpecDevice> read_device(const Json& value, const std::string& where) {
    GPUHOST_TRY(object, Object::of(value, where));
    SpecDevice device;
    GPUHOST_CHECK(object.require("name", device.name));
    GPUHOST_CHECK(object.take("annotations", device.annotations));
    GPUHOST_CHECK(read_edits(object, device.edits));
    GPUHOST_CHECK(object.finish());
    return device;
}

/// Fails if a member is repeated: runtimes read JSON as YAML and refuse such a file.
Result<Json> parse_json_once(std::string_view text, std::string_view what) {
    GPUHOST_TRY(document, base::parse_json(text, what));
    std::vector<std::set<std::string>> open; // keys so far of each unfinished object
    std::optional<std::string> repeated;
    document = Json::parse(text, [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start)
            open.emplace_back();
        else if (event == Json::parse_event_t::object_end)
            open.pop_back();
        else if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
            repeated = parsed.get<std::string>();
        return true;
    });
    if (repeated)
        return base::fail(Errc::BadContent,
                          std::string(what) + ": has the key '" + *repeated + "' twice in one place");
    return std::move(document);
}

} // namespace

Result<Spec> spec_from_json(const Json& document, std::string_view what) {
    GPUHOST_TRY(object, Object::of(document, std::string(what)));
    Spec spec;
    GPUHOST_CHECK(object.require("cdiVersion", spec.version));
    GPUHOST_CHECK(object.require("kind", spec.kind));
    GPUHOST_CHECK(object.take("annotations", spec.annotations));
    GPUHOST_CHECK(object.read_all("devices", spec.devices, read_device));
    GPUHOST_CHECK(read_edits(object, spec.edits));
    GPUHOST_CHECK(object.finish());
    return spec;
}

bool is_spec_file(std::string_view name) {
    return base::ends_with(name, ".json") || base::ends_with(name, ".yaml");
}

Result<Spec> parse_spec(std::string_view text, std::string_view name) {
    GPUHOST_TRY(document,
                base::ends_with(name, ".json") ? parse_json_once(text, name) : base::parse_yaml(text, name));
    return spec_from_json(document, name);
}

} // namespace gpuhost::runtime
