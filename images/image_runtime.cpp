// SPDX-License-Identifier: Apache-2.0
#include "images/image_runtime.hpp"

#include "daemon/base/process.hpp"
#include "images/containerd.hpp"
#include "images/docker.hpp"

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
constexpr std::chrono::hours pull_time{2}; ///< of one image, from this host's own disk
constexpr std::size_t output_limit = std::size_t{16} << 20U;

/// Where distributions, RKE2 and k3s have them; any ctr can talk to any containerd.
constexpr std::array ctrs{"/usr/bin/ctr", "/usr/local/bin/ctr", "/var/lib/rancher/rke2/bin/ctr",
                          "/var/lib/rancher/k3s/data/current/bin/ctr"};
constexpr std::array dockers{"/usr/bin/docker", "/usr/local/bin/docker"};

/// The last line of what a client said is its error.
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

using Make = std::shared_ptr<const ImageRuntime> (*)(std::string client, std::string socket);

struct Family {
    const std::vector<std::string>& words; ///< "SOCKET" or "SOCKET=CLIENT"
    std::span<const char* const> clients;
    Make make;
};

void find(const base::Root& root, const Family& family, ImageRuntimes& runtimes) {
    for (const std::string& word : family.words) {
        const std::size_t at = word.find('=');
        const std::string socket = word.substr(0, at);
        if (const auto st = root.stat(socket); !st || S_ISDIR(st->st_mode))
            continue;
        const auto client = at == std::string::npos ? first_of(family.clients) : word.substr(at + 1);
        if (client)
            runtimes.found.push_back(family.make(*client, root.host_path(socket)));
        else
            runtimes.problems.push_back(socket + ": its client is not installed, " + family.clients.front());
    }
}

} // namespace

Result<std::string> ask_client(const std::string& socket, std::vector<std::string> argv, bool is_pull) {
    base::Command command;
    command.argv = std::move(argv);
    command.deadline = is_pull ? std::chrono::milliseconds(pull_time) : answer_time;
    command.output_limit = output_limit;
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, socket + ": no answer in time", "See whether that runtime is well.");
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed, socket + ": " + last_line(finished.output));
    return std::move(finished.output);
}

ImageRuntimes find_image_runtimes(const base::Root& root, const RuntimeSettings& settings) {
    ImageRuntimes runtimes;
    find(root,
         {settings.containerd, ctrs,
          [](std::string client, std::string socket) -> std::shared_ptr<const ImageRuntime> {
              return std::make_shared<Containerd>(std::move(client), std::move(socket));
          }},
         runtimes);
    find(root,
         {settings.docker, dockers,
          [](std::string client, std::string socket) -> std::shared_ptr<const ImageRuntime> {
              return std::make_shared<Docker>(std::move(client), std::move(socket));
          }},
         runtimes);
    return runtimes;
}

} // namespace gpuhost::images
