// SPDX-License-Identifier: Apache-2.0
// Container runtimes by their command lines.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// What is started. k0s, k3s, RKE2 and MicroK8s start a containerd in their turn.
enum class RuntimeProgram { Containerd, Crio, Dockerd, K0s, K3s, Rke2, Microk8s };
[[nodiscard]] bool starts_containerd(RuntimeProgram program);

/// Nothing for what is no runtime, or one of its commands that ends by itself, as "containerd config dump".
[[nodiscard]] std::optional<RuntimeProgram> program_of(const std::vector<std::string>& command);

/// The value of the first option that has one of these names, as "--config FILE" or "--config=FILE"; empty: not there.
[[nodiscard]] std::string option_value(const std::vector<std::string>& command,
                                       std::initializer_list<std::string_view> names);
/// All of one that may be given several times.
[[nodiscard]] std::vector<std::string> option_values(const std::vector<std::string>& command,
                                                     std::string_view name);

} // namespace gpuhost::runtime
