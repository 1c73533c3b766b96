// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/restart.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds systemd_time{150}; ///< systemd's limits: 90 s each for stop and start
constexpr std::chrono::seconds answer_time{60};
constexpr std::chrono::seconds one_answer{15};
constexpr std::chrono::seconds settling{2}; ///< a runtime that fails after its start exits within this time
constexpr std::chrono::milliseconds pause{200};

Result<std::string> systemctl(const Root& root, std::vector<std::string> words) {
    base::Command command;
    command.argv = {root.host_path("/usr/bin/systemctl")};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.deadline = systemd_time;
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, "systemctl " + base::join(words, " ") + ": timed out");
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed,
                          "systemctl " + base::join(words, " ") + ": " + base::last_line(finished.output));
    return std::move(finished.output);
}

/// Fails with Timeout if the socket does not accept connections: an undo that fails with Timeout is repeated.
Result<void> connect_to(const Root& root, const std::string& path) {
    const auto failed = [&](int error) {
        return base::fail(Errc::Timeout, path + ": " + std::strerror(error));
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string whole = root.host_path(path);
    if (whole.size() >= sizeof address.sun_path)
        return failed(ENAMETOOLONG);
    std::memcpy(address.sun_path, whole.c_str(), whole.size());
    const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed(errno);
    return {};
}

/// Returns the path of ctr: beside containerd, else in the usual places. Any version of ctr can query any
/// version of containerd.
std::string client_of(const Root& root, const RuntimeInstance& instance) {
    const std::string beside = instance.executable.substr(0, instance.executable.rfind('/') + 1) + "ctr";
    for (const std::string& path : {beside, std::string("/usr/bin/ctr"), std::string("/usr/local/bin/ctr")})
        if (root.stat(path))
            return path;
    return {};
}

/// Returns true if the output of "ctr plugins list" shows the CRI plugin as ok. Lines are "TYPE ID PLATFORMS
/// STATUS".
bool is_cri_well(std::string_view list) {
    const std::vector<std::string> lines = base::split(list, '\n');
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        const std::vector<std::string> words = base::split_words(line);
        return words.size() >= 3 && words[0] == "io.containerd.grpc.v1" && words[1] == "cri" &&
               words.back() == "ok";
    });
}

Result<void> ask_containerd(const Root& root, const RuntimeState& state) {
    const std::string client = client_of(root, state.instance);
    if (client.empty())
        return {}; // without a client, it suffices that the socket accepts connections
    GPUHOST_TRY(answer, run_trusted(root, {client, "--address", state.instance.socket, "plugins", "list"},
                                    one_answer));
    if (answer.timed_out || answer.exit_status != 0)
        return base::fail(Errc::Timeout,
                          state.instance.name + " does not respond: " + base::last_line(answer.output));
    if (state.config.serves_cri && !is_cri_well(answer.output))
        return base::fail(Errc::Failed, "the CRI plugin of " + state.instance.name + " did not start",
                          "See 'journalctl --unit " + state.instance.unit + "'.");
    return {};
}

/// Returns the state with the runtime's current process.
RuntimeState look_again(const Root& root, const RuntimeState& state) {
    RuntimeState now = state;
    now.instance.pid = 0;
    for (const RuntimeInstance& instance : find_runtimes(root))
        if (instance.name == state.instance.name) {
            now.instance.pid = instance.pid;
            if (!instance.socket.empty())
                now.instance.socket = instance.socket;
        }
    return now;
}

Result<void> wait_for_answer(const Root& root, const RuntimeState& state) {
    const auto until = steady_clock::now() + answer_time;
    while (true) {
        auto answered = ask_runtime(root, look_again(root, state));
        if (answered || steady_clock::now() > until)
            return answered;
        std::this_thread::sleep_for(pause);
    }
}

} // namespace

Result<void> ask_runtime(const Root& root, const RuntimeState& state) {
    if (state.instance.pid == 0)
        return base::fail(Errc::Failed, state.instance.name + " is not running",
                          "See 'journalctl --unit " + state.instance.unit + "'.");
    if (!state.instance.socket.empty())
        GPUHOST_CHECK(connect_to(root, state.instance.socket));
    if (is_containerd(state.instance.kind) && !state.instance.socket.empty())
        return ask_containerd(root, state);
    return {};
}

std::string obstacle_to_restart(const Root& root) {
    const auto state = systemctl(root, {"show", "--property=ActiveState", "--", "gpuhost-ready.service"});
    return state && base::trim(*state) == "ActiveState=activating"
               ? "gpuhost-ready.service waits for this, and runtimes start after it"
               : "";
}

Result<void> restart_runtime(const Root& root, const RuntimeState& state,
                             const std::function<void(std::string_view)>& progress) {
    progress("restart " + state.instance.unit);
    GPUHOST_CHECK(systemctl(root, {"restart", "--", state.instance.unit}));
    progress("wait for " + state.instance.name);
    GPUHOST_CHECK(wait_for_answer(root, state));
    const std::uint64_t pid = look_again(root, state).instance.pid;
    std::this_thread::sleep_for(settling);
    const RuntimeState now = look_again(root, state);
    if (now.instance.pid != pid)
        return base::fail(Errc::Failed, state.instance.name + " keeps restarting",
                          "See 'journalctl --unit " + state.instance.unit + "'.");
    return ask_runtime(root, now);
}

} // namespace gpuhost::runtime
