// SPDX-License-Identifier: Apache-2.0
// The running kernel's state of drivers, read from sysfs and procfs only, so that tests can use a tree
// instead.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// A loaded module, with its name in the kernel's spelling ("nvidia_uvm").
struct LoadedModule {
    std::string name;
    std::string version;              ///< empty for most modules of the distribution
    std::string srcversion;           ///< empty if the kernel was built without
    int refcnt = -1;                  ///< -1: the kernel can't unload modules
    std::vector<std::string> holders; ///< modules that use this one
    std::string state;                ///< "live", "coming", "going"
};

struct PciGpu {
    std::string address; ///< "0000:65:00.0"
    std::string device;  ///< "0x2330"
    std::string driver;  ///< "nvidia", "vfio-pci", …; empty: none
};

/// Returns the kernel's name of a module: nvidia-uvm.ko is nvidia_uvm.
[[nodiscard]] std::string module_name(std::string_view file_or_name);

[[nodiscard]] base::Result<std::string> kernel_release(const base::Root& root);

/// Returns nothing if the module is not loaded.
[[nodiscard]] std::optional<LoadedModule> loaded_module(const base::Root& root, std::string_view name);
/// Returns the loaded modules of `roots` and all that hold them, directly or not: the modules that a swap
/// must unload.
[[nodiscard]] std::vector<LoadedModule> loaded_closure(const base::Root& root,
                                                       const std::vector<std::string>& roots);
/// Returns the driver's closure. It starts from the driver's modules by name, since not every kernel lists
/// holders. It includes nouveau, which drives the same GPUs on a fresh host.
[[nodiscard]] std::vector<LoadedModule> loaded_driver(const base::Root& root);

/// Returns NVIDIA display controllers (PCI class 03xx, vendor 10de).
[[nodiscard]] std::vector<PciGpu> nvidia_gpus(const base::Root& root);
/// Returns whether the host has NVSwitches, which connect its GPUs (PCI class 0680, vendor 10de).
[[nodiscard]] bool has_nvswitches(const base::Root& root);
/// Returns the numbers as lspci(8) prints them: "10de:2330".
[[nodiscard]] std::string pci_numbers(const PciGpu& gpu);
/// Returns the GPUs that NVIDIA's driver should serve: those without a driver or bound to nvidia or nouveau.
/// GPUs bound to another driver, such as vfio-pci, are left out.
[[nodiscard]] std::vector<PciGpu> gpus_to_drive(const std::vector<PciGpu>& gpus);
/// Splits gpus_to_drive() by whether NVIDIA's driver accepted the GPU when it probed it.
struct ProbedGpus {
    std::vector<std::string> driven; ///< PCI addresses
    std::vector<std::string> left;
};
[[nodiscard]] ProbedGpus probed_gpus(const std::vector<PciGpu>& gpus);
/// Returns the PCI addresses that the loaded driver serves: the names in /proc/driver/nvidia/gpus.
[[nodiscard]] std::vector<std::string> served_gpus(const base::Root& root);
/// Reads the device's configuration space. Returns false if the device is no longer on its bus: each read
/// then returns ones. Returns true if it cannot be read.
[[nodiscard]] bool answers_on_pci(const base::Root& root, const std::string& address);
/// Returns the version in /proc/driver/nvidia/version; empty without a driver.
[[nodiscard]] std::string served_version(const base::Root& root);

struct CharDriver {
    unsigned major = 0;
    std::string name;
};
[[nodiscard]] std::vector<CharDriver> parse_char_drivers(std::string_view proc_devices);
/// Returns the majors of all names that begin with nvidia in /proc/devices, of gdrdrv, which maps the GPUs'
/// memory, and 195, which is permanently NVIDIA's.
[[nodiscard]] std::set<unsigned> nvidia_majors(std::string_view proc_devices);

/// Returns why the kernel refuses modules without a valid signature. Empty: it accepts them.
[[nodiscard]] std::string signature_enforcement(const base::Root& root);

[[nodiscard]] base::Json to_json(const LoadedModule& module);
[[nodiscard]] LoadedModule loaded_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const PciGpu& gpu);
[[nodiscard]] PciGpu gpu_from_json(const base::Json& value);

} // namespace gpuhost::kmod
