// SPDX-License-Identifier: Apache-2.0
// Runs a list of module loads and unloads, and the operations before and after them, in one child process
// with a deadline for each.
//
// A module's init or exit function may never return, and then nothing can kill the process that waits in it.
// For that reason a child performs the moves and reports each through a pipe. The parent stays able to return
// a result.
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
    std::string name;       ///< of the module, or of the console
    std::string path;       ///< Load
    std::string parameters; ///< Load, LoadByName
    bool optional = false;  ///< a failure is noted and the next move begins
};

struct ModuleOpFailure {
    enum class Reason { Refused, Hung, Died } reason = Reason::Refused;
    std::size_t index = 0; ///< of the move
    int error = 0;         ///< Refused: the kernel's errno
};

struct ModuleOpsResult {
    std::size_t done = 0;                   ///< number of moves completed before the end or the failure
    std::optional<ModuleOpFailure> failure; ///< of a move that is not optional
    std::vector<ModuleOpFailure> notes;     ///< of optional moves
    std::uint64_t first_unload_us = 0;      ///< CLOCK_MONOTONIC; 0: none
};

struct ModuleOpOptions {
    std::chrono::milliseconds deadline{120'000}; ///< for one move
    /// Time to wait for short-lived users, such as udev's probes.
    std::chrono::milliseconds in_use_patience{1'000};
    std::function<void(std::size_t index)> on_begin; ///< called in the parent
};

/// Runs the moves in a child and stops at the first failure of one that is not optional. Opens and closes no
/// descriptor except its own pipe. The child inherits descriptors marked close-on-exec.
[[nodiscard]] base::Result<ModuleOpsResult>
run_module_ops(ModuleLoader& loader, const std::vector<ModuleOp>& moves, const ModuleOpOptions& options);

/// "unloading nvidia_uvm", for progress and errors.
[[nodiscard]] std::string describe(const ModuleOp& move);

} // namespace gpuhost::kmod
