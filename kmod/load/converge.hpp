// SPDX-License-Identifier: Apache-2.0
// Unloads and loads kernel modules until the kernel has those of a goal, from any earlier state. The text
// console is unbound from nvidia_drm before that module is unloaded, and bound again afterwards.
#pragma once

#include "kmod/load/loader.hpp"
#include "kmod/module/goal.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct ConvergeOptions {
    /// Release of the running kernel.
    std::string kernel;
    /// The modules from before the operation. Those that were unloaded are loaded again if another module
    /// turns out to be in use.
    ModuleGoal before;
    std::chrono::milliseconds module_deadline{120'000};
    /// How long the unload of a module in use is repeated. Must be well below module_deadline, else a module
    /// in use counts as hung.
    std::chrono::milliseconds in_use_patience{1'000};
    /// The text console was on the driver before the operation, and is bound to it again at the end.
    bool console = false;
    /// PCI addresses of the GPUs that check_gpus() requires. Without a value, GPUs are not checked, as during
    /// an undo.
    std::optional<std::vector<std::string>> gpus;
    std::function<void(double fraction, std::string_view text)> progress;
};

struct ConvergeReport {
    std::vector<std::string> unloaded;
    std::vector<std::string> loaded;
    /// Sentences about optional modules that did not load, and about a console that was not bound again.
    std::vector<std::string> notes;
    std::uint64_t first_unload_us = 0; ///< CLOCK_MONOTONIC; 0: nothing was unloaded
    std::uint64_t validated_us = 0;    ///< CLOCK_MONOTONIC, when the kernel was found to match the goal
};

/// Brings the kernel to `goal`. Fails with InUse if a module is in use; modules that were already unloaded
/// are then loaded again. Fails with RebootRequired if a load or unload does not return. After any other
/// error only some of the modules are loaded. Call converge() with another goal then, as an undo does.
[[nodiscard]] base::Result<ConvergeReport> converge(const base::Root& root, ModuleLoader& loader,
                                                    const ModuleGoal& goal, const ConvergeOptions& options);

/// Fails unless the kernel matches `goal`: all its required modules are loaded, each loaded module has the
/// version in the goal, and no module of the driver that is not in the goal is loaded.
[[nodiscard]] base::Result<void> check_kernel(const base::Root& root, const ModuleGoal& goal);

/// Fails if the loaded driver serves no GPU at all, or does not serve a GPU of `required` (PCI addresses). A
/// GPU in `required` that does not respond on the PCI bus is ignored, because another driver could not serve
/// it either. Succeeds if `goal` has no driver.
[[nodiscard]] base::Result<void> check_gpus(const base::Root& root, const ModuleGoal& goal,
                                            const std::vector<std::string>& required);
/// Returns a sentence for each NVIDIA GPU that the loaded driver does not serve. GPUs bound to another
/// driver, such as vfio-pci, are left out.
[[nodiscard]] std::vector<std::string> describe_unserved_gpus(const base::Root& root);

} // namespace gpuhost::kmod
