// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/spec.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpuhost::runtime {
namespace {

/// CDI versions, ordered from oldest to newest.
constexpr std::array<std::string_view, 10> versions{"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0",
                                                    "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
constexpr std::array<std::string_view, 6> hook_names{"prestart",       "createRuntime", "createContainer",
                                                     "startContainer", "poststart",     "poststop"};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_alphanumeric(char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
}

/// Reports whether the name has only alphanumeric characters and, except at its ends, characters of `others`.
bool is_name(std::string_view name, std::string_view others) {
    return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return is_alphanumeric(c) || others.find(c) != others.npos; });
}

bool is_kind(std::string_view kind) {
    const auto slash = kind.find('/');
    if (slash == kind.npos)
        return false;
    const std::string_view vendor = kind.substr(0, slash);
    const std::string_view device_class = kind.substr(slash + 1);
    return is_name(vendor, "_-.") && is_letter(vendor.front()) && is_name(device_class, "_-.") &&
           is_letter(device_class.front());
}

std::ptrdiff_t place_of(std::string_view version) {
    return std::find(versions.begin(), versions.end(), version) - versions.begin();
}

class Checker {
  public:
    [[nodiscard]] std::vector<std::string> check(const Spec& spec) {
        check_version(spec);
        if (!is_kind(spec.kind))
            problem("its kind '" + spec.kind + "' is not VENDOR/CLASS");
        if (spec.devices.empty())
            problem("it has no devices");
        std::set<std::string_view> names;
        for (const SpecDevice& device : spec.devices) {
            if (!is_name(device.name, "_-.:"))
                problem("'" + device.name + "' is not a valid device name");
            if (!names.insert(device.name).second)
                problem("it has two devices named '" + device.name + "'");
            if (device.edits.empty())
                problem("device '" + device.name + "' changes nothing");
            check(device.edits);
        }
        check(spec.edits);
        return std::move(problems_);
    }

  private:
    void problem(std::string text) { problems_.push_back(std::move(text)); }

    void check_version(const Spec& spec) {
        const std::string_view version =
            std::string_view(spec.version).substr(!spec.version.empty() && spec.version[0] == 'v' ? 1 : 0);
        const std::string least = minimum_version(spec);
        const auto place = place_of(version);
        if (place == std::ssize(versions))
            problem("'" + spec.version + "' is not a known CDI version up to " +
                    std::string(versions.back()));
        else if (place < place_of(least))
            problem("it needs CDI " + least + ", but declares " + spec.version);
    }

    void check_path(const std::string& what, const std::string& path) {
        if (path.empty() || path[0] != '/')
            problem(what + " '" + path + "' is not an absolute path");
    }

    void check_env(const std::vector<std::string>& env) {
        for (const std::string& variable : env)
            if (const auto sign = variable.find('='); sign == 0 || sign == std::string::npos)
                problem("'" + variable + "' is not NAME=VALUE");
    }

    void check(const SpecEdits& edits) {
        check_env(edits.env);
        for (const SpecNode& node : edits.nodes)
            check(node);
        for (const SpecMount& mount : edits.mounts) {
            if (mount.is_of_host())
                check_path("mount source", mount.host_path);
            else if (mount.host_path.empty())
                problem("mount target '" + mount.container_path + "' has no source");
            check_path("mount target", mount.container_path);
        }
        for (const SpecHook& hook : edits.hooks) {
            if (std::find(hook_names.begin(), hook_names.end(), hook.name) == hook_names.end())
                problem("'" + hook.name + "' is not a valid hook name");
            check_path("hook", hook.path);
            check_env(hook.env);
        }
        check(edits.net_devices);
        if (edits.intel_rdt)
            check(*edits.intel_rdt);
    }

    void check(const SpecNode& node) {
        check_path("device node", node.path);
        if (!node.host_path.empty())
            check_path("device node", node.host_path);
        if (!node.type.empty() &&
            (node.type.size() > 1 || std::string_view("bcup").find(node.type) == std::string::npos))
            problem("device node " + node.path + " has type '" + node.type + "' other than b, c, u, p");
        if (node.major < 0 || node.minor < 0)
            problem("device node " + node.path + " has a negative number");
        if (node.permissions != "none" && node.permissions.find_first_not_of("rwm") != std::string::npos)
            problem("device node " + node.path + " has permissions '" + node.permissions +
                    "' other than r, w, m");
    }

    void check(const std::vector<SpecNetDevice>& devices) {
        std::set<std::string_view> on_host;
        std::set<std::string_view> names;
        for (const SpecNetDevice& device : devices) {
            if (device.host_interface.empty() || device.name.empty())
                problem("a network device has no name");
            if (!on_host.insert(device.host_interface).second || !names.insert(device.name).second)
                problem("network device '" + device.host_interface + "' or its name '" + device.name +
                        "' is used twice");
        }
    }

    void check(const SpecIntelRdt& rdt) {
        const std::string& id = rdt.clos_id;
        if (id != "/" &&
            (id.size() >= 4096 || id == "." || id == ".." || id.find_first_of("/\n") != std::string::npos))
            problem("'" + id + "' is not a valid class of service");
    }

    std::vector<std::string> problems_;
};

} // namespace

std::vector<std::string> spec_problems(const Spec& spec) {
    return Checker().check(spec);
}

} // namespace gpuhost::runtime
