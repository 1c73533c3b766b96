// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/devices.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <sys/sysmacros.h>

namespace gpuhost::kmod {
namespace {

constexpr unsigned nvidia_major = 195;
constexpr unsigned control_minor = 255;
constexpr unsigned modeset_minor = 254;
constexpr unsigned deepest_capability = 6;

/// Parses lines "Key: number", the format of the driver's files in procfs. Ignores other lines.
std::map<std::string, std::uint64_t> parse_numbers(std::string_view text) {
    std::map<std::string, std::uint64_t> numbers;
    for (const std::string& line : base::split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos)
            continue;
        if (const auto value = base::parse_uint(base::trim(std::string_view(line).substr(colon + 1))))
            numbers[std::string(base::trim(line.substr(0, colon)))] = *value;
    }
    return numbers;
}

std::uint64_t number_or(const std::map<std::string, std::uint64_t>& numbers, const char* key,
                        std::uint64_t fallback) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? fallback : found->second;
}

/// Adds the nodes of /dev/nvidia-caps: one for each file below `path` that contains a minor number and
/// permits programs to create the node. `path` is the driver's directory capabilities/ in procfs.
void add_capabilities(const base::Root& root, const std::string& path, unsigned major, unsigned depth,
                      std::vector<DeviceNode>& nodes) {
    for (const std::string& name : root.list(path).value_or(std::vector<std::string>())) {
        const std::string child = path + "/" + name;
        const auto st = root.lstat(child);
        if (st && S_ISDIR(st->st_mode) && depth < deepest_capability)
            add_capabilities(root, child, major, depth + 1, nodes);
        if (!st || !S_ISREG(st->st_mode))
            continue;
        const auto numbers = parse_numbers(root.read(child).value_or(std::string()));
        const auto minor = number_or(numbers, "DeviceFileMinor", 0);
        if (minor != 0 && number_or(numbers, "DeviceFileModify", 1) != 0)
            nodes.push_back({"/dev/nvidia-caps/nvidia-cap" + std::to_string(minor), major,
                             static_cast<unsigned>(minor),
                             static_cast<mode_t>(number_or(numbers, "DeviceFileMode", 0400)), 0, 0});
    }
}

std::string char_link(const DeviceNode& node) {
    return "/dev/char/" + std::to_string(node.major) + ":" + std::to_string(node.minor);
}

std::string char_target(const DeviceNode& node) {
    return ".." + node.path.substr(std::string_view("/dev").size());
}

bool is_in_place(const base::Root& root, const DeviceNode& node) {
    const auto slash = node.path.rfind('/');
    const auto directory = root.open_file(node.path.substr(0, slash), O_PATH | O_DIRECTORY);
    if (!directory)
        return false;
    return is_device_at(directory->get(), node.path.c_str() + slash + 1, node) &&
           root.read_link(char_link(node)).value_or(std::string()) == char_target(node);
}

/// Removes outdated links in /dev/char. Such a link leads to one of the nodes, but its name is another device
/// number, which the node had with an earlier driver.
base::Result<void> drop_stale_links(const base::Root& root, const std::vector<DeviceNode>& nodes) {
    for (const std::string& name : root.list("/dev/char").value_or(std::vector<std::string>())) {
        const std::string path = "/dev/char/" + name;
        const std::string target = root.read_link(path).value_or(std::string());
        const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const DeviceNode& wanted) {
            return char_target(wanted) == target;
        });
        if (node != nodes.end() && char_link(*node) != path)
            GPUHOST_CHECK(root.remove(path));
    }
    return {};
}

/// Returns the driver's settings for its nodes. Returns nothing if no driver is loaded, or if
/// DeviceRules::modify is false.
std::optional<DeviceRules> device_rules(const base::Root& root) {
    const auto params = root.read("/proc/driver/nvidia/params");
    if (!params)
        return std::nullopt;
    const DeviceRules rules = parse_device_rules(*params);
    return rules.modify ? std::optional(rules) : std::nullopt;
}

DeviceNode node(const DeviceRules& rules, const std::string& name, unsigned major, unsigned minor) {
    return {"/dev/" + name, major, minor, rules.mode, rules.uid, rules.gid};
}

/// Returns the nodes that should exist, without those of single GPUs.
std::vector<DeviceNode> common_devices(const base::Root& root, const DeviceRules& rules) {
    std::vector<DeviceNode> nodes{node(rules, "nvidiactl", nvidia_major, control_minor)};
    if (loaded_module(root, "nvidia_modeset"))
        nodes.push_back(node(rules, "nvidia-modeset", nvidia_major, modeset_minor));
    for (const CharDriver& driver : parse_char_drivers(root.read("/proc/devices").value_or(std::string()))) {
        if (driver.name == "nvidia-uvm") {
            nodes.push_back(node(rules, "nvidia-uvm", driver.major, 0));
            nodes.push_back(node(rules, "nvidia-uvm-tools", driver.major, 1));
        } else if (driver.name == "nvidia-caps") {
            add_capabilities(root, "/proc/driver/nvidia/capabilities", driver.major, 0, nodes);
        }
    }
    return nodes;
}

} // namespace

DeviceRules parse_device_rules(std::string_view params) {
    const auto numbers = parse_numbers(params);
    DeviceRules rules;
    rules.modify = number_or(numbers, "ModifyDeviceFiles", 1) != 0;
    rules.mode = static_cast<mode_t>(number_or(numbers, "DeviceFileMode", 0666) & 0777U);
    rules.uid = static_cast<uid_t>(number_or(numbers, "DeviceFileUID", 0));
    rules.gid = static_cast<gid_t>(number_or(numbers, "DeviceFileGID", 0));
    return rules;
}

int parse_gpu_minor(std::string_view information) {
    const auto numbers = parse_numbers(information);
    const auto found = numbers.find("Device Minor");
    return found == numbers.end() ? -1 : static_cast<int>(found->second);
}

std::vector<DeviceNode> wanted_devices(const base::Root& root) {
    const auto rules = device_rules(root);
    if (!rules)
        return {};
    std::vector<DeviceNode> nodes = common_devices(root, *rules);
    for (const std::string& address : served_gpus(root)) {
        const std::string file = "/proc/driver/nvidia/gpus/" + address + "/information";
        if (const int minor = parse_gpu_minor(root.read(file).value_or(std::string())); minor >= 0)
            nodes.push_back(
                node(*rules, "nvidia" + std::to_string(minor), nvidia_major, static_cast<unsigned>(minor)));
    }
    return nodes;
}

std::vector<DeviceNode> missing_devices(const base::Root& root) {
    std::vector<DeviceNode> nodes = wanted_devices(root);
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const DeviceNode& node) { return is_in_place(root, node); }),
                nodes.end());
    return nodes;
}

std::vector<std::string> gpu_nodes(const base::Root& root) {
    const auto directory = root.open_file("/dev", O_PATH | O_DIRECTORY);
    if (!directory)
        return {};
    std::vector<std::string> nodes;
    constexpr std::string_view prefix = "nvidia";
    for (const std::string& name : root.list("/dev").value_or(std::vector<std::string>())) {
        if (!base::starts_with(name, prefix))
            continue;
        const auto minor = base::parse_uint(std::string_view(name).substr(prefix.size()));
        if (minor && device_at(directory->get(), name.c_str()) ==
                         ::makedev(nvidia_major, static_cast<unsigned>(*minor)))
            nodes.push_back("/dev/" + name);
    }
    return nodes;
}

bool devices_complete(const base::Root& root) {
    const auto rules = device_rules(root);
    if (!rules)
        return true;
    const std::vector<DeviceNode> nodes = common_devices(root, *rules);
    return gpu_nodes(root).size() >= served_gpus(root).size() &&
           std::all_of(nodes.begin(), nodes.end(),
                       [&](const DeviceNode& node) { return is_in_place(root, node); });
}

base::Result<void> make_devices(const base::Root& root) {
    GPUHOST_CHECK(root.make_directories("/dev/char"));
    for (const DeviceNode& node : missing_devices(root)) {
        GPUHOST_CHECK(root.make_directories(node.path.substr(0, node.path.rfind('/'))));
        GPUHOST_CHECK(make_device(root, node));
        GPUHOST_CHECK(root.symlink_atomic(char_target(node), char_link(node)));
    }
    return drop_stale_links(root, wanted_devices(root));
}

} // namespace gpuhost::kmod
