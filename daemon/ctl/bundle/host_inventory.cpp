// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/host_inventory.hpp"

#include "config.h"
#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/plan/driver_filter.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace gpuhost::ctl {

using base::Root;
using images::Inventory;

namespace {

constexpr std::size_t database_limit = std::size_t{64} << 20U; ///< for dpkg's status and pci.ids

struct Runtime {
    std::string_view name;
    std::array<std::string_view, 3> programs;
    /// Names of the Debian packages with the program. The package's version is the program's version.
    std::array<std::string_view, 3> packages;
};
constexpr std::array known_runtimes{
    Runtime{
        "containerd", {"/usr/bin/containerd", "/usr/local/bin/containerd"}, {"containerd.io", "containerd"}},
    Runtime{"cri-o", {"/usr/bin/crio", "/usr/local/bin/crio"}, {"cri-o"}},
    Runtime{"docker", {"/usr/bin/dockerd", "/usr/local/bin/dockerd"}, {"docker-ce", "docker.io"}},
    Runtime{"podman", {"/usr/bin/podman", "/usr/local/bin/podman"}, {"podman"}},
    Runtime{"k0s", {"/usr/local/bin/k0s", "/usr/bin/k0s"}, {}},
    Runtime{"k3s", {"/usr/local/bin/k3s", "/usr/bin/k3s"}, {}},
    Runtime{"rke2", {"/usr/local/bin/rke2", "/usr/bin/rke2"}, {}},
    Runtime{"kubelet", {"/usr/bin/kubelet", "/usr/local/bin/kubelet"}, {"kubelet"}},
};

/// Calls `use` for each line, without its line feed.
template <class F>
void for_each_line(std::string_view text, F use) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        use(line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
}

void add_kernels(Inventory& inventory, const Root& root) {
    const std::string running = kmod::kernel_release(root).value_or("");
    for (const std::string& kernel : base::installed_kernels(root))
        inventory.kernels.push_back({kernel, kernel == running, kmod::check_headers(root, kernel).empty(),
                                     kmod::check_tools(root, kernel, root).empty()});
}

void add_runtimes(Inventory& inventory, const Root& root) {
    const auto packages = debian_packages(root);
    for (const Runtime& runtime : known_runtimes) {
        const auto program = std::find_if(runtime.programs.begin(), runtime.programs.end(),
                                          [&](auto path) { return !path.empty() && root.exists(path); });
        if (program == runtime.programs.end())
            continue;
        images::InventoryRuntime row{std::string(runtime.name), std::string(*program), {}};
        const bool packaged = base::starts_with(*program, "/usr/bin/");
        for (const std::string_view package : runtime.packages)
            if (const auto found = packages.find(package);
                packaged && row.version.empty() && found != packages.end())
                row.version = found->second;
        inventory.runtimes.push_back(std::move(row));
    }
}

/// Returns the names of NVIDIA's devices by device ID: "2330" → "GH100 [H100 SXM5 80GB]".
std::map<std::string, std::string, std::less<>> pci_names(const Root& root) {
    std::map<std::string, std::string, std::less<>> names;
    auto text = root.read("/usr/share/misc/pci.ids", database_limit);
    if (!text)
        text = root.read("/usr/share/hwdata/pci.ids", database_limit);
    bool ours = false;
    for_each_line(text.value_or(""), [&](std::string_view line) {
        if (!line.empty() && line.front() != '\t' && line.front() != '#')
            ours = base::starts_with(line, "10de ");
        else if (ours && line.size() > 7 && line.front() == '\t' && line[1] != '\t')
            names.emplace(line.substr(1, 4), base::trim(line.substr(5)));
    });
    return names;
}

/// Returns the model from "Model: \t NVIDIA H100 80GB HBM3" in the driver's information file.
std::string driver_name(const Root& root, const std::string& address) {
    std::string name;
    for_each_line(root.read("/proc/driver/nvidia/gpus/" + address + "/information").value_or(""),
                  [&](std::string_view line) {
                      if (base::starts_with(line, "Model:"))
                          name = base::trim(line.substr(6));
                  });
    return name;
}

std::string device_id(const kmod::PciGpu& gpu) {
    return gpu.device.substr(base::starts_with(gpu.device, "0x") ? 2 : 0);
}

void add_gpus(Inventory& inventory, const Root& root) {
    const auto models = gpu_models(root);
    for (const kmod::PciGpu& gpu : kmod::nvidia_gpus(root)) {
        const std::string name = driver_name(root, gpu.address);
        inventory.gpus.push_back(
            {gpu.address, "10de", device_id(gpu), name.empty() ? models.at(gpu.address) : name});
    }
}

base::Result<void> add_drivers(Inventory& inventory, const Root& root) {
    GPUHOST_TRY(store, kmod::read_store(root));
    for (const kmod::DriverVersion& version : store.versions) {
        const auto is_wanted = [&](const auto& set) {
            return inventory.wanted_flavour.empty() || set.flavour == inventory.wanted_flavour;
        };
        images::InventoryDriver driver{version.version,
                                       !version.userland.empty(),
                                       std::any_of(version.sources.begin(), version.sources.end(), is_wanted),
                                       {}};
        for (const kmod::ModuleSet& set : version.modules)
            if (is_wanted(set))
                driver.kernels.push_back(set.kernel);
        std::sort(driver.kernels.begin(), driver.kernels.end());
        driver.kernels.erase(std::unique(driver.kernels.begin(), driver.kernels.end()), driver.kernels.end());
        inventory.drivers.push_back(std::move(driver));
    }
    return {};
}

} // namespace

std::map<std::string, std::string, std::less<>> gpu_models(const Root& root) {
    const auto names = pci_names(root);
    std::map<std::string, std::string, std::less<>> models;
    for (const kmod::PciGpu& gpu : kmod::nvidia_gpus(root)) {
        const auto known = names.find(device_id(gpu));
        models.insert_or_assign(gpu.address, known == names.end() ? "" : known->second);
    }
    return models;
}

std::map<std::string, std::string, std::less<>> debian_packages(const Root& root) {
    std::map<std::string, std::string, std::less<>> versions;
    std::string name;
    bool installed = false;
    for_each_line(root.read("/var/lib/dpkg/status", database_limit).value_or(""), [&](std::string_view line) {
        if (base::starts_with(line, "Package: ")) {
            name = line.substr(9);
            installed = false;
        } else if (base::starts_with(line, "Status: "))
            installed = base::ends_with(line, " installed");
        else if (base::starts_with(line, "Version: ") && installed)
            versions[name] = line.substr(9);
    });
    return versions;
}

images::HostFacts read_host_facts(const Root& root) {
    const core::Settings settings = core::load_settings(root, {kmod::driver_setting_keys()}).settings;
    return {images::host_platform(root), base::installed_kernels(root),
            images::distributions_of(images::read_os_release(root)), kmod::driver_filter(root, settings)};
}

base::Result<Inventory> read_inventory(const Root& root) {
    Inventory inventory;
    inventory.hostname = root.read_line("/proc/sys/kernel/hostname").value_or("");
    if (!root.is_host() || inventory.hostname.empty())
        inventory.hostname = std::string(base::trim(root.read_line("/etc/hostname").value_or("")));
    inventory.gpuhost = PACKAGE_VERSION;
    inventory.platform = images::host_platform(root);
    inventory.distribution = images::read_os_release(root);
    add_kernels(inventory, root);
    add_gpus(inventory, root);
    const auto driver =
        kmod::driver_settings(core::load_settings(root, {kmod::driver_setting_keys()}).settings);
    inventory.accepts_drivers = driver.owner == kmod::DriverOwner::Gpuhost;
    inventory.wanted_driver = driver.version;
    inventory.wanted_flavour = driver.flavour == "any" ? "" : driver.flavour;
    add_runtimes(inventory, root);
    GPUHOST_CHECK(add_drivers(inventory, root));
    GPUHOST_CHECK(images::add_store(inventory, root));
    return inventory;
}

} // namespace gpuhost::ctl
