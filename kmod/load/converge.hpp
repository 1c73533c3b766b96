// SPDX-License-Identifier: Apache-2.0
// Brings the kernel's modules to a goal from any state. The text console is unbound from nvidia_drm while
// that module is unloaded.
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
    std::string kernel;
    ModuleGoal before; ///< the state to restore if a module turns out to be in use halfway
    std::chrono::milliseconds module_deadline{120'000};
    /// must be well below the deadline, else a busy module counts as hung
    std::chrono::milliseconds in_use_patience{1'000};
    bool console = false; ///< the text console was on the driver and must be bound to it again
    /// PCI addresses for check_gpus(). Without a value the GPUs are not checked: an undo accepts any result.
    std::optional<std::vector<std::string>> gpus;
    std::function<void(double fraction, std::string_view text)> progress;
};

struct ConvergeReport {
    std::vector<std::string> unloaded;
    std::vector<std::string> loaded;
    /// optional modules that did not load; a console that was not restored
    std::vector<std::string> notes;
    std::uint64_t first_unload_us = 0; ///< CLOCK_MONOTONIC; 0: nothing was unloaded
    std::uint64_t validated_us = 0;    ///< CLOCK_MONOTONIC, when the kernel was found to match the goal
};

/// Fails with InUse if a module is in use; unloaded modules are then loaded again. Fails with RebootRequired
/// if a module hangs in the kernel. After any other error the kernel is in an intermediate state; call
/// converge() with another goal to repair it.
[[nodiscard]] base::Result<ConvergeReport> converge(const base::Root& root, ModuleLoader& loader,
                                                    const ModuleGoal& goal, const ConvergeOptions& options);

/// Checks that the kernel has exactly the modules of `goal`. The error says what differs.
[[nodiscard]] base::Result<void> check_kernel(const base::Root& root, const ModuleGoal& goal);

/// Fails if the driver serves none of the GPUs that it should drive, or lacks one of `required`. A GPU that
/// does not respond on its bus is not required: no other driver would serve it either.
[[nodiscard]] base::Result<void> check_gpus(const base::Root& root, const ModuleGoal& goal,
                                            const std::vector<std::string>& required);
/// Returns a sentence for each GPU that the driver should drive and does not serve.
[[nodiscard]] std::vector<std::string> describe_unserved_gpus(const base::Root& root);

} // namespace gpuhost::kmod
