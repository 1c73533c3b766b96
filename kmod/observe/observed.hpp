// SPDX-License-Identifier: Apache-2.0
// The state of the driver on this host: loaded modules, store, GPUs, files. The daemon observes it, and plans
// are made from it.
#pragma once

#include "kmod/boot/initramfs.hpp"
#include "kmod/boot/removed_kernels.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The result of DriverComponent::observe(). If the comment of a member is the name of a function, this
/// function returns the value.
struct Observed {
    std::string kernel;                   ///< release of the running kernel
    std::vector<InstalledKernel> kernels; ///< installed kernels, in order of release
    std::vector<RemovedKernel> removed_kernels;
    std::vector<PciGpu> gpus;
    std::vector<LoadedModule> loaded; ///< loaded_driver()
    std::string loaded_version;       ///< served_version()
    Store store;
    std::vector<std::string> units; ///< units of ClientUnits= that have processes
    /// Paths of selection files (kmod/boot/selection_files.hpp) that are not as they should be.
    std::vector<std::string> wrong_files;
    std::string options;    ///< content of /etc/modprobe.d/gpuhost.conf
    std::string configured; ///< Version= of [Driver]
    std::string new_kernel; ///< NewKernel= of [Driver]
    std::string current;    ///< current_userland()
    /// Name of the text console if it is on the driver, "vtcon1"; else empty.
    std::string console;
    std::vector<std::string> packaged_units;      ///< packaged_units()
    std::map<std::string, std::string> initramfs; ///< unknown_initramfs()
    bool devices_complete = true;                 ///< devices_complete()
    bool autoload_blocked = false;                ///< autoload_blocked()

    /// Returns the running kernel's selection; null: none.
    [[nodiscard]] const Selection* selection() const { return store.selection_of(kernel); }
    /// Returns whether headers of this kernel are installed, as in InstalledKernel.
    [[nodiscard]] bool has_headers(const std::string& release) const {
        return std::any_of(kernels.begin(), kernels.end(), [&](const InstalledKernel& installed) {
            return installed.release == release && installed.headers;
        });
    }
    /// Returns what a build for this kernel lacks. A kernel that is not installed lacks headers.
    [[nodiscard]] std::vector<core::Problem> build_problems(const std::string& release) const;
};
/// Returns the driver's document for status (org.gpuhost1(5)).
[[nodiscard]] base::Json to_json(const Observed& observed);

} // namespace gpuhost::kmod
