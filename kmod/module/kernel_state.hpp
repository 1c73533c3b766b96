// SPDX-License-Identifier: Apache-2.0
// Reads the state of drivers in the running kernel, only from files in sysfs and procfs. Tests replace these
// by a directory tree.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// A loaded module. `name` has underscores: "nvidia_uvm".
struct LoadedModule {
    std::string name;
    std::string version;              ///< empty for most modules of the distribution
    std::string srcversion;           ///< empty if the kernel was built without CONFIG_MODULE_SRCVERSION_ALL
    int refcnt = -1;                  ///< number of users; -1: the kernel cannot unload modules
    std::vector<std::string> holders; ///< names of loaded modules that use this one
    std::string state;                ///< "live", "coming", "going"
};

struct PciGpu {
    std::string address; ///< "0000:65:00.0"
    std::string device;  ///< "0x2330"
    std::string driver;  ///< the driver bound to it: "nvidia", "vfio-pci", …; empty: none
};

/// Returns the name of a module from a name or file name: "nvidia-uvm.ko.xz" → "nvidia_uvm".
[[nodiscard]] std::string module_name(std::string_view file_or_name);

/// Returns the release of the running kernel: "6.1.0-50-amd64".
[[nodiscard]] base::Result<std::string> kernel_release(const base::Root& root);

/// Returns nothing if the module is not loaded.
[[nodiscard]] std::optional<LoadedModule> loaded_module(const base::Root& root, std::string_view name);
/// Returns those modules in `roots` that are loaded, and all loaded modules that use one of them, directly or
/// not. A swap must unload all of these.
[[nodiscard]] std::vector<LoadedModule> loaded_closure(const base::Root& root,
                                                       const std::vector<std::string>& roots);
/// Returns loaded_closure() of the modules of NVIDIA's driver, and of nouveau, which drives the same GPUs on
/// a newly installed host.
[[nodiscard]] std::vector<LoadedModule> loaded_driver(const base::Root& root);

/// Returns the GPUs of the host: PCI devices of vendor 10de and class 03xx (display controllers).
[[nodiscard]] std::vector<PciGpu> nvidia_gpus(const base::Root& root);
/// Returns whether the host has NVSwitches, which connect its GPUs (PCI class 0680, vendor 10de).
[[nodiscard]] bool has_nvswitches(const base::Root& root);
/// Returns a GPU's vendor and device numbers as lspci(8) prints them: "10de:2330".
[[nodiscard]] std::string pci_numbers(const PciGpu& gpu);
/// Returns the GPUs that NVIDIA's driver should serve: those without a driver or bound to nvidia or nouveau.
/// GPUs bound to another driver, such as vfio-pci, are left out.
[[nodiscard]] std::vector<PciGpu> gpus_to_drive(const std::vector<PciGpu>& gpus);
/// The result of gpus_to_drive(), divided by whether NVIDIA's driver is bound to the GPU. When the driver was
/// loaded, the kernel bound it to all GPUs that it accepted.
struct ProbedGpus {
    std::vector<std::string> driven; ///< PCI addresses
    std::vector<std::string> left;   ///< PCI addresses
};
[[nodiscard]] ProbedGpus probed_gpus(const std::vector<PciGpu>& gpus);
/// Returns the PCI addresses of the GPUs that the loaded driver serves: the names in
/// /proc/driver/nvidia/gpus.
[[nodiscard]] std::vector<std::string> served_gpus(const base::Root& root);
/// Returns whether a PCI device responds, by its configuration space. If it is no longer on its bus, all
/// bytes that are read are 0xff. Returns true if the configuration space cannot be read.
[[nodiscard]] bool answers_on_pci(const base::Root& root, const std::string& address);
/// Returns the driver version in /proc/driver/nvidia/version; empty if NVIDIA's driver is not loaded.
[[nodiscard]] std::string served_version(const base::Root& root);

/// A line of /proc/devices: a driver of character devices.
struct CharDriver {
    unsigned major = 0;
    std::string name;
};
[[nodiscard]] std::vector<CharDriver> parse_char_drivers(std::string_view proc_devices);
/// Returns the major device numbers of NVIDIA's drivers. These are 195, which is always NVIDIA's, and those
/// in /proc/devices whose name begins with "nvidia" or is "gdrdrv" (GDRCopy).
[[nodiscard]] std::set<unsigned> nvidia_majors(std::string_view proc_devices);

/// Returns why the kernel refuses modules without a valid signature, as text for messages:
/// "module.sig_enforce is set". Empty: it accepts them.
[[nodiscard]] std::string signature_enforcement(const base::Root& root);

[[nodiscard]] base::Json to_json(const LoadedModule& module);
[[nodiscard]] base::Json to_json(const PciGpu& gpu);

} // namespace gpuhost::kmod
