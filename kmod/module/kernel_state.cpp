// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/kernel_state.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

constexpr unsigned nvidia_major = 195;
const std::string pci_devices = "/sys/bus/pci/devices";

std::string line_or_empty(const base::Root& root, const std::string& path) {
    return root.read_line(path).value_or(std::string());
}

std::vector<std::string> names_in(const base::Root& root, const std::string& path) {
    return root.list(path).value_or(std::vector<std::string>());
}

std::string last_component(std::string_view path) {
    const auto slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// Returns the PCI addresses of NVIDIA's devices whose class in sysfs begins with `device_class`: "0x03".
std::vector<std::string> nvidia_devices(const base::Root& root, std::string_view device_class) {
    std::vector<std::string> addresses = names_in(root, pci_devices);
    std::erase_if(addresses, [&](const std::string& address) {
        const std::string directory = pci_devices + "/" + address;
        return line_or_empty(root, directory + "/vendor") != "0x10de" ||
               !base::starts_with(line_or_empty(root, directory + "/class"), device_class);
    });
    return addresses;
}

} // namespace

std::string module_name(std::string_view file_or_name) {
    std::string name = last_component(file_or_name);
    if (const auto suffix = name.find(".ko"); suffix != std::string::npos)
        name.resize(suffix);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

base::Result<std::string> kernel_release(const base::Root& root) {
    return root.read_line("/proc/sys/kernel/osrelease");
}

std::optional<LoadedModule> loaded_module(const base::Root& root, std::string_view name) {
    const std::string directory = "/sys/module/" + std::string(name);
    // The directory exists also for built-in code with parameters, but only a loaded module has initstate.
    const auto state = root.read_line(directory + "/initstate");
    if (!state)
        return std::nullopt;
    LoadedModule module;
    module.name = name;
    module.state = *state;
    module.version = line_or_empty(root, directory + "/version");
    module.srcversion = line_or_empty(root, directory + "/srcversion");
    if (const auto count = base::parse_uint(line_or_empty(root, directory + "/refcnt")))
        module.refcnt = static_cast<int>(*count);
    module.holders = names_in(root, directory + "/holders");
    return module;
}

std::vector<LoadedModule> loaded_closure(const base::Root& root, const std::vector<std::string>& roots) {
    std::vector<LoadedModule> found;
    std::vector<std::string> wanted = roots;
    std::set<std::string> seen;
    while (!wanted.empty()) {
        const std::string name = std::move(wanted.back());
        wanted.pop_back();
        if (!seen.insert(name).second)
            continue;
        if (auto module = loaded_module(root, name)) {
            wanted.insert(wanted.end(), module->holders.begin(), module->holders.end());
            found.push_back(std::move(*module));
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
}

/// Passes the names of all modules of the driver to loaded_closure(), because it may not find them from
/// nvidia alone. Without DRM in the kernel, nvidia_drm does not use nvidia_modeset. A kernel that cannot
/// unload modules lists no holders.
std::vector<LoadedModule> loaded_driver(const base::Root& root) {
    return loaded_closure(
        root, {"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm", "nvidia_peermem", "nouveau"});
}

std::vector<PciGpu> nvidia_gpus(const base::Root& root) {
    std::vector<PciGpu> gpus;
    for (const std::string& address : nvidia_devices(root, "0x03")) {
        const std::string directory = pci_devices + "/" + address;
        const auto driver = root.read_link(directory + "/driver");
        gpus.push_back(
            {address, line_or_empty(root, directory + "/device"), driver ? last_component(*driver) : ""});
    }
    return gpus;
}

bool has_nvswitches(const base::Root& root) {
    return !nvidia_devices(root, "0x0680").empty();
}

std::string pci_numbers(const PciGpu& gpu) {
    return "10de:" + gpu.device.substr(base::starts_with(gpu.device, "0x") ? 2 : 0);
}

std::vector<PciGpu> gpus_to_drive(const std::vector<PciGpu>& gpus) {
    std::vector<PciGpu> ours;
    std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(ours), [](const PciGpu& gpu) {
        return gpu.driver.empty() || gpu.driver == "nvidia" || gpu.driver == "nouveau";
    });
    return ours;
}

ProbedGpus probed_gpus(const std::vector<PciGpu>& gpus) {
    ProbedGpus probed;
    for (const PciGpu& gpu : gpus_to_drive(gpus))
        (gpu.driver == "nvidia" ? probed.driven : probed.left).push_back(gpu.address);
    return probed;
}

bool answers_on_pci(const base::Root& root, const std::string& address) {
    const auto fd = root.open_file(pci_devices + "/" + address + "/config", O_RDONLY);
    std::array<unsigned char, 2> vendor{};
    if (!fd || ::pread(fd->get(), vendor.data(), vendor.size(), 0) != static_cast<ssize_t>(vendor.size()))
        return true; // cannot be read
    return vendor[0] != 0xff || vendor[1] != 0xff;
}

std::vector<std::string> served_gpus(const base::Root& root) {
    return names_in(root, "/proc/driver/nvidia/gpus");
}

std::string served_version(const base::Root& root) {
    // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  Release Build  (…)"
    const std::string text = root.read("/proc/driver/nvidia/version").value_or(std::string());
    for (const std::string& word : base::split_words(text.substr(0, text.find('\n'))))
        if (base::is_driver_version(word))
            return word;
    return {};
}

std::vector<CharDriver> parse_char_drivers(std::string_view proc_devices) {
    std::vector<CharDriver> drivers;
    for (const std::string& line : base::split(proc_devices, '\n')) {
        if (base::starts_with(line, "Block devices"))
            break;
        const std::vector<std::string> words = base::split_words(line);
        const auto major = words.size() == 2 ? base::parse_uint(words[0]) : std::nullopt;
        if (major)
            drivers.push_back({static_cast<unsigned>(*major), words[1]});
    }
    return drivers;
}

std::set<unsigned> nvidia_majors(std::string_view proc_devices) {
    std::set<unsigned> majors{nvidia_major};
    for (const CharDriver& driver : parse_char_drivers(proc_devices))
        if (base::starts_with(driver.name, "nvidia") || driver.name == "gdrdrv")
            majors.insert(driver.major);
    return majors;
}

std::string signature_enforcement(const base::Root& root) {
    if (line_or_empty(root, "/sys/module/module/parameters/sig_enforce") == "Y")
        return "module.sig_enforce is set";
    // "none [integrity] confidentiality": the mode in brackets is active
    const std::string lockdown = line_or_empty(root, "/sys/kernel/security/lockdown");
    const auto open = lockdown.find('[');
    const auto close = lockdown.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return {};
    const std::string mode = lockdown.substr(open + 1, close - open - 1);
    return mode == "none" ? "" : "the kernel is locked down (" + mode + ")";
}

base::Json to_json(const LoadedModule& module) {
    return {{"name", module.name},     {"version", module.version}, {"srcversion", module.srcversion},
            {"refcnt", module.refcnt}, {"holders", module.holders}, {"state", module.state}};
}

base::Json to_json(const PciGpu& gpu) {
    return {{"address", gpu.address}, {"device", gpu.device}, {"driver", gpu.driver}};
}

} // namespace gpuhost::kmod
