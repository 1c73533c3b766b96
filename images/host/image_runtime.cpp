// SPDX-License-Identifier: Apache-2.0
#include "images/host/image_runtime.hpp"

#include "daemon/base/process.hpp"
#include "images/host/containerd.hpp"
#include "images/host/docker.hpp"
#include "images/host/podman.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::chrono::minutes answer_time{1};
constexpr std::chrono::hours pull_time{2}; ///< limit for the pull of one image, whose blobs are on this host
constexpr std::size_t output_limit = std::size_t{16} << 20U;

/// The paths of ctr in distributions, RKE2 and k3s. The first that exists is used: any ctr works with any
/// containerd.
constexpr std::array ctrs{"/usr/bin/ctr", "/usr/local/bin/ctr", "/var/lib/rancher/rke2/bin/ctr",
                          "/var/lib/rancher/k3s/data/current/bin/ctr"};
constexpr std::array dockers{"/usr/bin/docker", "/usr/local/bin/docker"};
constexpr std::array podmans{"/usr/bin/podman", "/usr/local/bin/podman"};
constexpr std::string_view podman_socket = "/run/podman/podman.sock";

/// Returns the last line of a client's output; in failed runs this is the error.
std::string last_line(const std::string& output) {
    const std::size_t end = output.find_last_not_of("\r\n");
    if (end == std::string::npos)
        return "no reason given";
    const std::size_t begin = output.find_last_of("\r\n", end);
    return output.substr(begin == std::string::npos ? 0 : begin + 1,
                         end - (begin == std::string::npos ? -1 : begin));
}

std::optional<std::string> first_of(std::span<const char* const> paths) {
    const auto found =
        std::find_if(paths.begin(), paths.end(), [](const char* path) { return ::access(path, X_OK) == 0; });
    return found == paths.end() ? std::nullopt : std::optional<std::string>(*found);
}

template <typename Runtime>
std::shared_ptr<const ImageRuntime> make(const base::Root&, std::string client, std::string socket) {
    return std::make_shared<Runtime>(std::move(client), std::move(socket));
}

std::shared_ptr<const ImageRuntime> make_podman(const base::Root& root, std::string client,
                                                std::string socket) {
    return std::make_shared<Podman>(root, std::move(client), std::move(socket));
}

using Make = std::shared_ptr<const ImageRuntime> (*)(const base::Root&, std::string client,
                                                     std::string socket);

/// One kind of runtime: the words of its setting, the paths of its client, and a function that makes the
/// object.
struct Family {
    const std::vector<std::string>& words; ///< "SOCKET" or "SOCKET=CLIENT"
    std::span<const char* const> clients;
    Make make;
};

std::string socket_of(const std::string& word) {
    return word.substr(0, word.find('='));
}

/// Adds the runtimes of one kind whose sockets exist.
void find(const base::Root& root, const Family& family, ImageRuntimes& runtimes) {
    for (const std::string& word : family.words) {
        const std::size_t at = word.find('=');
        const std::string socket = socket_of(word);
        if (const auto st = root.stat(socket); !st || S_ISDIR(st->st_mode))
            continue;
        const auto client = at == std::string::npos ? first_of(family.clients) : word.substr(at + 1);
        if (client)
            runtimes.found.push_back(family.make(root, *client, root.host_path(socket)));
        else
            runtimes.problems.push_back(socket + ": its client is not installed: " + family.clients.front());
    }
}

/// Returns the words of Podman=. "auto" becomes Podman's default socket if CRI-O runs, because CRI-O uses
/// Podman's storage of images. Otherwise it becomes no socket, because many hosts have Podman for other
/// purposes.
std::vector<std::string> podman_words(const base::Root& root, const ImageRuntimeSettings& settings,
                                      std::vector<std::string>& problems) {
    std::vector<std::string> words = settings.podman;
    if (std::erase(words, "auto") == 0 || !root.exists(crio_socket))
        return words;
    if (!root.exists(podman_socket))
        problems.push_back(std::string(crio_socket) +
                           ": CRI-O gets images through Podman: install podman and run 'systemctl enable "
                           "--now podman.socket', or set Podman= to nothing");
    words.emplace_back(podman_socket);
    return words;
}

/// Returns the words of Docker= without those sockets that are also a socket of Podman, such as
/// /run/docker.sock of the package podman-docker.
std::vector<std::string> docker_words(const base::Root& root, const ImageRuntimeSettings& settings,
                                      std::vector<std::string> podman) {
    podman.emplace_back(podman_socket);
    const auto is_podman = [&](const std::string& word) {
        const auto st = root.stat(socket_of(word));
        return st && std::any_of(podman.begin(), podman.end(), [&](const std::string& other) {
                   const auto same = root.stat(socket_of(other));
                   return same && same->st_dev == st->st_dev && same->st_ino == st->st_ino;
               });
    };
    std::vector<std::string> words = settings.docker;
    std::erase_if(words, is_podman);
    return words;
}

} // namespace

Result<std::string> ask_client(const std::string& socket, std::vector<std::string> argv, bool is_pull) {
    base::Command command;
    command.argv = std::move(argv);
    command.deadline = is_pull ? std::chrono::milliseconds(pull_time) : answer_time;
    command.output_limit = output_limit;
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, socket + ": timed out", "Check that the runtime responds.");
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed, socket + ": " + last_line(finished.output));
    return std::move(finished.output);
}

ImageRuntimes find_image_runtimes(const base::Root& root, const ImageRuntimeSettings& settings) {
    ImageRuntimes runtimes;
    find(root, {settings.containerd, ctrs, make<Containerd>}, runtimes);
    const std::vector<std::string> podman = podman_words(root, settings, runtimes.problems);
    const std::vector<std::string> docker = docker_words(root, settings, podman);
    find(root, {docker, dockers, make<Docker>}, runtimes);
    find(root, {podman, podmans, make_podman}, runtimes);
    return runtimes;
}

} // namespace gpuhost::images
