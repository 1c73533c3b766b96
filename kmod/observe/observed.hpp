// SPDX-License-Identifier: Apache-2.0
// The driver's state as the daemon observes it, from which plans are made.
#pragma once

#include "kmod/boot/initramfs.hpp"
#include "kmod/boot/removed_kernels.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The document of observe() as values.
struct Observed {
    std::string kernel;
    std::vector<InstalledKernel> kernels; ///< in order of release
    std::vector<GoneKernel> removed_kernels;
    std::vector<PciGpu> gpus;
    std::vector<LoadedModule> loaded;
    std::string loaded_version;
    Store store;
    std::vector<std::string> units;               ///< active ones of ClientUnits=
    std::vector<std::string> wrong_files;         ///< wrong files of the selection
    std::string options;                          ///< /etc/modprobe.d/gpuhost.conf
    std::string configured;                       ///< Version=
    std::string new_kernel;                       ///< NewKernel=
    std::string current;                          ///< current_userland()
    std::string console;                          ///< the text console if it is on the driver: "vtcon1"
    std::vector<std::string> packaged_units;      ///< packaged_units()
    std::map<std::string, std::string> initramfs; ///< unknown_initramfs()
    bool devices_complete = true;
    bool autoload_blocked = false;

    [[nodiscard]] const Selection* selection() const; ///< for the running kernel
};
[[nodiscard]] base::Json to_json(const Observed& observed);
[[nodiscard]] Observed observed_from_json(const base::Json& value);

} // namespace gpuhost::kmod
