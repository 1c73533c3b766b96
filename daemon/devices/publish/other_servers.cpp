// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/other_servers.hpp"

#include "daemon/base/parse.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::devices {
namespace {

/// Returns true unless connect(2) shows that no process listens. A full backlog (EAGAIN) has a listener.
bool is_served(int directory, const std::string& name) {
    const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // By the directory's descriptor, because a path in sockaddr_un is short.
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (!socket || path.size() >= sizeof address.sun_path)
        return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return true;
    return errno == EAGAIN || errno == EINPROGRESS || errno == EACCES || errno == EPERM;
}

} // namespace

std::vector<std::string> other_servers(const base::Root& root) {
    const std::string directory = "/var/lib/kubelet/device-plugins"; // whatever the kubelet's --root-dir is
    std::vector<std::string> found;
    const auto names = root.list(directory);
    const auto opened = root.open_file(directory, O_PATH | O_DIRECTORY);
    for (const std::string& name : names&& opened ? *names : std::vector<std::string>())
        if (base::starts_with(name, "nvidia-") && base::ends_with(name, ".sock") &&
            is_served(opened->get(), name))
            found.push_back(directory + "/" + name);
    return found;
}

base::Error other_server_error(const std::string& socket) {
    return {
        base::Errc::Refused,
        "another device plugin offers the GPUs to the kubelet: a process listens on '" + socket + "'",
        "Hand the GPUs over: kubectl label node NODE nvidia.com/gpu.deploy.device-plugin=false, or remove "
        "the plugin's DaemonSet; then: gpuhostctl apply."};
}

} // namespace gpuhost::devices
