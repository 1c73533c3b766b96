// SPDX-License-Identifier: Apache-2.0
// The systemd services that start container runtimes, read from their files. Includes disabled ones and works
// below another root.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeUnit {
    std::string name; ///< "containerd.service"
    std::string file;
    std::vector<std::string> command;  ///< ExecStart= after all drop-ins, without prefix characters
    std::vector<std::string> bound_to; ///< units whose stop or restart also stops or restarts this unit
    std::string kill_mode;             ///< KillMode=; empty: systemd's default, which ends all processes
};

/// Splits a command line as systemd does: quotes enclose blanks, and a backslash escapes the next character.
[[nodiscard]] std::vector<std::string> split_command(std::string_view line);

/// Returns the first ExecStart= that is in effect; empty if there is none. `texts` are the unit file and its
/// drop-ins, in rising precedence.
[[nodiscard]] std::vector<std::string> exec_start(const std::vector<std::string>& texts);

/// Returns the units in Requires=, BindsTo= and PartOf=: if systemd restarts one of them, it restarts this
/// unit too.
[[nodiscard]] std::vector<std::string> bound_to(const std::vector<std::string>& texts);

/// Returns the KillMode= that is in effect; empty if there is none.
[[nodiscard]] std::string kill_mode(const std::vector<std::string>& texts);

/// Returns unmasked services whose program is a container runtime, by name.
[[nodiscard]] std::vector<RuntimeUnit> read_runtime_units(const base::Root& root);

} // namespace gpuhost::runtime
