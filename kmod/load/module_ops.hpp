// SPDX-License-Identifier: Apache-2.0
// Runs a list of operations (loads and unloads of modules, changes of the text console) in one child process,
// with a deadline for each.
//
// A module's init or exit function may never return, and a process that waits in it cannot be killed.
// Therefore a child process performs the operations, and reports the begin and end of each through a pipe.
// The parent can return a result even if the child hangs.
#pragma once

#include "kmod/load/loader.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct ModuleOp {
    enum class Type { Unload, Load, LoadByName, UnbindConsole, BindConsole } type = Type::Unload;
    std::string name;       ///< name of the module or of the console
    std::string path;       ///< for Load: path of the module's file
    std::string parameters; ///< for Load and LoadByName: the module's parameters
    bool optional = false;  ///< if it fails, the failure is recorded in `notes` and the next operation begins
};

struct ModuleOpFailure {
    /// Refused: the kernel returned an error. Hung: no end within the deadline. Died: the child died.
    enum class Reason { Refused, Hung, Died } reason = Reason::Refused;
    std::size_t index = 0; ///< index of the operation in the list
    int error = 0;         ///< for Refused: the kernel's errno
};

struct ModuleOpsResult {
    /// Number of operations that ended before the first failure of one that is not optional.
    std::size_t done = 0;
    std::optional<ModuleOpFailure> failure; ///< the failure that ended the list early
    std::vector<ModuleOpFailure> notes;     ///< failures of optional operations
    std::uint64_t first_unload_us = 0;      ///< CLOCK_MONOTONIC time when the first unload began; 0: none
};

struct ModuleOpOptions {
    /// The deadline of one operation. After it, the operation counts as hung.
    std::chrono::milliseconds deadline{120'000};
    /// How long an unload is repeated while the module is in use, for example by a short probe of udev.
    std::chrono::milliseconds in_use_patience{1'000};
    std::function<void(std::size_t index)> on_begin; ///< called in the parent when an operation begins
};

/// Runs `ops` in order in a child. Stops at the first failure of an operation that is not optional. The
/// result contains that failure; run_module_ops() itself does not fail because of it. The child inherits all
/// open descriptors, also those marked close-on-exec, such as the lock of module_lock.hpp.
[[nodiscard]] base::Result<ModuleOpsResult>
run_module_ops(ModuleLoader& loader, const std::vector<ModuleOp>& ops, const ModuleOpOptions& options);

/// Returns "unloading nvidia_uvm", for progress and errors.
[[nodiscard]] std::string describe(const ModuleOp& op);

} // namespace gpuhost::kmod
