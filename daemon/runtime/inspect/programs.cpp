// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/programs.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"

namespace gpuhost::runtime {

using base::contains;

namespace {

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 is the beginning
}

/// Returns true if the command only prints something and exits: "containerd --config FILE config dump",
/// "dockerd --validate".
bool only_answers(const std::vector<std::string>& command) {
    return contains(command, "config") || contains(command, "--version") || contains(command, "-v") ||
           contains(command, "--validate") || contains(command, "--help") || contains(command, "-h");
}

/// Returns true if the command, "k3s server" or "k3s agent", starts its own containerd and does not use
/// another runtime.
bool is_node(const std::vector<std::string>& command) {
    return command.size() > 1 && (command[1] == "server" || command[1] == "agent") &&
           !contains(command, "--docker") && !contains(command, "--disable-agent") &&
           option_value(command, {"--container-runtime-endpoint"}).empty();
}

/// Returns true if the k0s command starts its own containerd: "k0s worker", or a controller that is also a
/// worker, without the option for another runtime.
bool is_k0s_worker(const std::vector<std::string>& command) {
    const std::string role = command.size() > 1 ? command[1] : "";
    const auto is_set = [&](const std::string& option) {
        return contains(command, option) || contains(command, option + "=true");
    };
    return (role == "worker" ||
            (role == "controller" && (is_set("--enable-worker") || is_set("--single")))) &&
           option_value(command, {"--cri-socket"}).empty();
}

} // namespace

bool starts_containerd(RuntimeProgram program) {
    return program == RuntimeProgram::K0s || program == RuntimeProgram::K3s ||
           program == RuntimeProgram::Rke2 || program == RuntimeProgram::Microk8s;
}

std::optional<RuntimeProgram> program_of(const std::vector<std::string>& command) {
    if (command.empty())
        return std::nullopt;
    const std::string_view program = file_name(command.front());
    const bool serves = (command.size() == 1 || command[1].empty() ||
                         std::string_view("-$").find(command[1][0]) != std::string_view::npos) &&
                        !only_answers(command);
    if (program == "containerd" && serves)
        return RuntimeProgram::Containerd;
    if (program == "dockerd" && serves)
        return RuntimeProgram::Dockerd;
    if (program == "crio" && serves)
        return RuntimeProgram::Crio;
    if (program == "k0s" && is_k0s_worker(command))
        return RuntimeProgram::K0s;
    if (program == "k3s" && is_node(command))
        return RuntimeProgram::K3s;
    if (program == "rke2" && is_node(command))
        return RuntimeProgram::Rke2;
    if (program == "snap" && contains(command, "microk8s.daemon-containerd"))
        return RuntimeProgram::Microk8s;
    return std::nullopt;
}

std::string option_value(const std::vector<std::string>& command,
                         std::initializer_list<std::string_view> names) {
    for (std::size_t i = 1; i < command.size(); ++i)
        for (const std::string_view name : names) {
            if (command[i] == name && i + 1 < command.size())
                return command[i + 1];
            if (base::starts_with(command[i], std::string(name) + "="))
                return command[i].substr(name.size() + 1);
        }
    return {};
}

std::vector<std::string> option_values(const std::vector<std::string>& command, std::string_view name) {
    std::vector<std::string> values;
    for (std::size_t i = 1; i < command.size(); ++i)
        if (command[i] == name && i + 1 < command.size())
            values.push_back(command[++i]);
        else if (base::starts_with(command[i], std::string(name) + "="))
            values.push_back(command[i].substr(name.size() + 1));
    return values;
}

} // namespace gpuhost::runtime
