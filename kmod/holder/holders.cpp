// SPDX-License-Identifier: Apache-2.0
#include "kmod/holder/holders.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/device_node.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <dirent.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using DirPtr = base::CHandle<DIR, ::closedir>;
constexpr std::size_t maps_limit = 64U << 20;
constexpr std::size_t described = 5; ///< holders that a text names one by one

std::string proc(pid_t pid, std::string_view file) {
    return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::vector<pid_t> processes(const base::Root& root) {
    std::vector<pid_t> pids;
    for (const std::string& name : root.list("/proc").value_or(std::vector<std::string>()))
        if (const auto pid = base::parse_uint(name); pid && static_cast<pid_t>(*pid) != ::getpid())
            pids.push_back(static_cast<pid_t>(*pid));
    return pids;
}

/// Reports whether a device belongs to the driver: by the major numbers that the driver registered, else by
/// the device's driver in sysfs. The lookup in sysfs is needed for DRM, which has major 226 for all drivers.
/// Each device is looked up once.
class DriverDevices {
  public:
    explicit DriverDevices(const base::Root& root)
        : root_(root), majors_(nvidia_majors(root.read("/proc/devices").value_or(std::string()))) {}

    bool has(dev_t device) {
        if (majors_.count(::gnu_dev_major(device)) != 0)
            return true;
        const auto [known, is_new] = known_.try_emplace(device, false);
        if (is_new)
            known->second = is_driven(device);
        return known->second;
    }

  private:
    bool is_driven(dev_t device) const {
        const std::string number =
            std::to_string(::gnu_dev_major(device)) + ":" + std::to_string(::gnu_dev_minor(device));
        const std::string driver =
            root_.read_link("/sys/dev/char/" + number + "/device/driver").value_or(std::string());
        return base::ends_with(driver, "/nvidia") || base::ends_with(driver, "/nouveau");
    }

    const base::Root& root_;
    std::set<unsigned> majors_;
    std::map<dev_t, bool> known_;
};

/// Returns the numbers of the driver's devices that a process has open: "195:255".
std::vector<std::string> open_devices(const base::Root& root, pid_t pid, DriverDevices& driver) {
    std::vector<std::string> devices;
    auto fd = root.open_file(proc(pid, "fd"), O_RDONLY | O_DIRECTORY);
    if (!fd)
        return devices; // the process has ended, or is a kernel thread
    DirPtr stream(::fdopendir(fd->get()));
    if (!stream)
        return devices;
    (void)fd->release();
    while (const dirent* entry = ::readdir(stream.get())) {
        const auto device = device_at(::dirfd(stream.get()), entry->d_name);
        if (!device || !driver.has(*device))
            continue;
        std::string number =
            std::to_string(::gnu_dev_major(*device)) + ":" + std::to_string(::gnu_dev_minor(*device));
        if (std::find(devices.begin(), devices.end(), number) == devices.end())
            devices.push_back(std::move(number));
    }
    return devices;
}

/// Returns the mappings of a process. If its maps file has no "/dev/", as for most processes, returns an
/// empty list without parsing.
std::vector<Mapping> device_mappings(const base::Root& root, pid_t pid) {
    const std::string maps = root.read(proc(pid, "maps"), maps_limit).value_or(std::string());
    return maps.find("/dev/") == std::string::npos ? std::vector<Mapping>() : parse_maps(maps);
}

/// Returns whether `path`, from /proc/PID/maps, is a device of the driver. The file maps has only the path of
/// a device, and other files may have such a path. The path is therefore looked up in the root directory of
/// the process. It is also looked up in the host's root, because for a process in a chroot, maps has paths in
/// the host's root. The file /proc/PID/map_files would give the mapped file itself, but needs
/// CAP_CHECKPOINT_RESTORE.
bool is_device(const base::Root& root, pid_t pid, const std::string& path, DriverDevices& driver) {
    for (const auto& [directory, name] :
         {std::pair(proc(pid, ""), "root" + path), std::pair(std::string("/"), path.substr(1))}) {
        const auto fd = root.open_file(directory, O_PATH | O_DIRECTORY);
        const auto device = fd ? device_at(fd->get(), name.c_str()) : std::nullopt;
        if (device && driver.has(*device))
            return true;
    }
    return false;
}

/// Returns the driver's devices that a process has open; if there are none, those that it has mapped.
std::vector<std::string> held_devices(const base::Root& root, pid_t pid, DriverDevices& driver) {
    std::vector<std::string> devices = open_devices(root, pid, driver);
    if (!devices.empty())
        return devices;
    for (const Mapping& mapping : device_mappings(root, pid))
        if (const std::string path = may_be_driver_device(mapping.path);
            !path.empty() && is_device(root, pid, path, driver))
            devices.push_back(mapping.path + " (mapped)");
    return devices;
}

/// Returns " of pod UID, container ID" or " of train.service"; empty if all are unknown.
std::string describe(const Origin& origin) {
    std::string text = origin.pod.empty() ? "" : " of pod " + origin.pod;
    if (!origin.container.empty())
        text += (origin.pod.empty() ? " of container " : ", container ") + origin.container.substr(0, 12);
    else if (!origin.unit.empty())
        text += " of " + origin.unit;
    return text;
}

} // namespace

std::vector<HolderGroup> group_by_origin(const std::vector<Holder>& holders) {
    std::map<std::tuple<bool, std::string, std::string, std::string>, HolderGroup> groups;
    for (const Holder& holder : holders) {
        const Origin& origin = holder.origin;
        groups[{origin.pod.empty(), origin.pod, origin.container, origin.unit}].push_back(holder);
    }
    std::vector<HolderGroup> found;
    for (auto& [origin, group] : groups)
        found.push_back(std::move(group));
    return found;
}

std::string describe_group(const HolderGroup& group) {
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min(group.size(), described); ++i)
        named.push_back(std::to_string(group[i].pid) + " (" + group[i].command + ")");
    std::string text = (group.size() == 1 ? "process " : "processes ") + base::join(named, ", ");
    if (group.size() > described)
        text += " and " + std::to_string(group.size() - described) + " more";
    return text + describe(group.front().origin);
}

base::Json group_to_json(const HolderGroup& group) {
    base::Json value = to_json(group.front());
    value["processes"] = group.size();
    return value;
}

Holder identify(const base::Root& root, pid_t pid, std::vector<std::string> devices) {
    return {pid, root.read_line(proc(pid, "comm")).value_or("?"),
            parse_cgroup(root.read(proc(pid, "cgroup")).value_or(std::string())), std::move(devices)};
}

std::string describe(const Holder& holder) {
    return describe_group({holder});
}

std::string describe(const std::vector<Holder>& holders) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(holders.size(), described); ++i)
        texts.push_back(describe(holders[i]));
    std::string text = base::join(texts, ", ");
    if (holders.size() > described)
        text += " and " + std::to_string(holders.size() - described) + " more";
    return text;
}

base::Json to_json(const Holder& holder) {
    return {{"pid", holder.pid},          {"command", holder.command},
            {"unit", holder.origin.unit}, {"container", holder.origin.container},
            {"pod", holder.origin.pod},   {"devices", holder.devices}};
}

std::vector<Holder> find_holders(const base::Root& root) {
    DriverDevices driver(root);
    std::vector<Holder> found;
    for (const pid_t pid : processes(root))
        if (auto devices = held_devices(root, pid, driver); !devices.empty())
            found.push_back(identify(root, pid, std::move(devices)));
    return found;
}

bool holds_driver(const base::Root& root, pid_t pid) {
    DriverDevices driver(root);
    return !held_devices(root, pid, driver).empty();
}

bool has_descriptors(const base::Root& root, pid_t pid) {
    return !root.list(proc(pid, "fd")).value_or(std::vector<std::string>()).empty();
}

std::vector<Holder> without_units(std::vector<Holder> holders, const std::vector<std::string>& units) {
    holders.erase(std::remove_if(holders.begin(), holders.end(),
                                 [&](const Holder& holder) {
                                     return std::find(units.begin(), units.end(), holder.origin.unit) !=
                                            units.end();
                                 }),
                  holders.end());
    return holders;
}

} // namespace gpuhost::kmod
