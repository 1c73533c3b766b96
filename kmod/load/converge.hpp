// SPDX-License-Identifier: Apache-2.0
// Brings the kernel's modules to a goal, from whatever state they are in. The text console is off nvidia_drm while that is
// unloaded.
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
    Goal before; ///< what goes back if something is in use half way
    std::chrono::milliseconds module_deadline{120'000};
    std::chrono::milliseconds in_use_patience{1'000}; ///< well below the deadline, or it is one
    bool console = false; ///< the text console was on the driver, and is to be again
    /// PCI addresses for check_gpus(). Without a value the GPUs are not checked: going back accepts what it gets.
    std::optional<std::vector<std::string>> gpus;
    std::function<void(double fraction, std::string_view text)> progress;
};

struct ConvergeReport {
    std::vector<std::string> unloaded;
    std::vector<std::string> loaded;
    std::vector<std::string> notes; ///< optional modules that did not load, a console that is not as it was
    std::uint64_t first_unload_us = 0; ///< CLOCK_MONOTONIC; 0: nothing was unloaded
    std::uint64_t validated_us = 0;    ///< the moment at which the kernel was found as wanted
};

/// InUse: nothing changed. RebootRequired: a module hangs in the kernel. Any other error: the kernel is
/// somewhere between, and converging to another goal mends it.
[[nodiscard]] base::Result<ConvergeReport> converge(const base::Root& root, ModuleLoader& loader,
                                                    const Goal& goal, const ConvergeOptions& options);

/// Does the kernel have just what `goal` says? The reason if not.
[[nodiscard]] base::Result<void> check_kernel(const base::Root& root, const Goal& goal);

/// Fails if the driver serves none of the GPUs that it should drive, or not one of `required`. A GPU that does not answer on
/// its bus is not required: another driver would not serve it either.
[[nodiscard]] base::Result<void> check_gpus(const base::Root& root, const Goal& goal,
                                            const std::vector<std::string>& required);
/// Returns a sentence for each GPU that the driver should drive and does not serve.
[[nodiscard]] std::vector<std::string> describe_unserved_gpus(const base::Root& root);

} // namespace gpuhost::kmod
