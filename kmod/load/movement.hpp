// SPDX-License-Identifier: Apache-2.0
// A list of module loads and unloads, and of what must come before and after them, done by one child process under a
// deadline for each.
//
// The kernel may never come back from a module's init or exit, and then nothing can kill the process that
// waits in it. So a child does the moves and tells of each through a pipe; the parent stays free to give its
// result.
#pragma once

#include "kmod/load/loader.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct Move {
    enum class Type { Unload, Load, LoadByName, UnbindConsole, BindConsole } type = Type::Unload;
    std::string name;       ///< of the module, or of the console
    std::string path;       ///< Load
    std::string parameters; ///< Load, LoadByName
    bool optional = false;  ///< its failure is noted and the next move begins
};

struct MoveFailure {
    enum class Reason { Refused, Hung, Died } reason = Reason::Refused;
    std::size_t index = 0; ///< of the move
    int error = 0;         ///< Refused: the kernel's errno
};

struct MovesResult {
    std::size_t done = 0;               ///< this many moves came before the end or the failure
    std::optional<MoveFailure> failure; ///< of a move that is not optional
    std::vector<MoveFailure> notes;     ///< of those that are
    std::uint64_t first_unload_us = 0;  ///< CLOCK_MONOTONIC; 0: none
};

struct MoveOptions {
    std::chrono::milliseconds deadline{120'000}; ///< for one move
    /// Short-lived users, like udev's probes, are waited for.
    std::chrono::milliseconds in_use_patience{1'000};
    std::function<void(std::size_t index)> on_begin; ///< in the parent
};

/// Stops at the first failure. Opens and closes nothing but its own pipe; descriptors marked close-on-exec
/// are inherited.
[[nodiscard]] base::Result<MovesResult> run_moves(ModuleLoader& loader, const std::vector<Move>& moves,
                                                  const MoveOptions& options);

/// "unloading nvidia_uvm", for progress and errors.
[[nodiscard]] std::string describe(const Move& move);

} // namespace gpuhost::kmod
