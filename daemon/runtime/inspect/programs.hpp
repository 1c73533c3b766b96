// SPDX-License-Identifier: Apache-2.0
// Identifies container runtimes by their command lines.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// The program of a command. k0s, k3s, RKE2 and MicroK8s start a containerd as another process.
enum class RuntimeProgram { Containerd, Crio, Dockerd, K0s, K3s, Rke2, Microk8s };
[[nodiscard]] bool starts_containerd(RuntimeProgram program);

/// Returns the container runtime that a command starts. nullopt for other programs, and for commands that
/// only print something and exit, such as "containerd config dump".
[[nodiscard]] std::optional<RuntimeProgram> program_of(const std::vector<std::string>& command);

/// Returns the value of the first option with one of these names, from "--config FILE" or "--config=FILE";
/// empty: none.
[[nodiscard]] std::string option_value(const std::vector<std::string>& command,
                                       std::initializer_list<std::string_view> names);
/// Returns all values of an option that may be repeated.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& command,
                                                     std::string_view name);

} // namespace gpuhost::runtime
