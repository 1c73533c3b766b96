// SPDX-License-Identifier: Apache-2.0
// The services of systemd that start container runtimes, by their files: also those that are off, and below another root.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeUnit {
    std::string name; ///< "containerd.service"
    std::string file;
    std::vector<std::string> command;  ///< ExecStart= after drop-ins, without the marks before the program
    std::vector<std::string> bound_to; ///< units with which it is stopped and started again
    std::string kill_mode; ///< KillMode=; empty: systemd's default, which ends all of its processes
};

/// In words, as systemd takes a command line apart: quotes enclose blanks, a backslash stands for the next character.
[[nodiscard]] std::vector<std::string> split_command(std::string_view line);

/// The first ExecStart= of a unit file and its drop-ins, the later ones last; empty: there is none.
[[nodiscard]] std::vector<std::string> exec_start(const std::vector<std::string>& texts);

/// Of Requires=, BindsTo= and PartOf=, after which systemd restarts it with any of them.
[[nodiscard]] std::vector<std::string> bound_to(const std::vector<std::string>& texts);

/// Returns the last KillMode= of a unit file and its drop-ins.
[[nodiscard]] std::string kill_mode(const std::vector<std::string>& texts);

/// Services whose program is a container runtime, by name. Masked ones are none.
[[nodiscard]] std::vector<RuntimeUnit> read_runtime_units(const base::Root& root);

} // namespace gpuhost::runtime
