// SPDX-License-Identifier: Apache-2.0
// gpuhostd: creates the parts of the daemon and connects them.
#include "daemon/base/arguments.hpp"
#include "daemon/base/installed.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/bus/introspect.hpp"
#include "daemon/bus/server.hpp"
#include "daemon/core/former_names.hpp"
#include "daemon/host/journal_sink.hpp"
#include "daemon/host/manager/mounted_system.hpp"
#include "daemon/host/notify.hpp"
#include "daemon/host/worker/launcher_direct.hpp"
#include "daemon/host/worker/launcher_systemd.hpp"
#include "daemon/programs/components.hpp"
#include "daemon/settings/all_settings.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

namespace {

using namespace gpuhost; // NOLINT: this file only

constexpr const char* usage = R"(gpuhostd [OPTIONS]

Installs and swaps NVIDIA's kernel driver on this host. Started by systemd; see gpuhostd(8).

  --root=DIR             use the tree below DIR (default: /)
  --launcher=KIND        how workers run: systemd (transient units) or direct (children);
                         default: systemd where it is the init and the root is /
  --worker=PATH          the worker program
  --rescue=DIR           serve one client for the offline system that is mounted at DIR;
                         gpuhostctl --root= starts it so
  --client=FD            with --rescue: the socket on which to serve org.gpuhost1 to the client
  --read-only            with --rescue: change nothing
  --bus-introspect=PATH  print the D-Bus interfaces of an object and exit
  -h, --help             print this
      --version          print the version
)";

struct Options {
    std::string root = "/";
    std::string launcher;
    std::string worker = base::installed_program("gpuhost-worker");
    std::string introspect;
    std::string rescue;
    std::string client;
    bool read_only = false;
};

/// Parses the options. Returns the exit status if the program must exit now, for example after --help.
std::optional<int> parse(std::span<char*> argv, Options& options) {
    if (const auto status = base::parse_arguments(argv, {"gpuhostd", usage},
                                                  {{"--root=", &options.root},
                                                   {"--launcher=", &options.launcher},
                                                   {"--worker=", &options.worker},
                                                   {"--rescue=", &options.rescue},
                                                   {"--client=", &options.client},
                                                   {"--read-only", nullptr, &options.read_only},
                                                   {"--bus-introspect=", &options.introspect}}))
        return status;
    if (options.rescue.empty() != options.client.empty()) {
        std::fprintf(stderr,
                     "gpuhostd: --rescue= and --client= require each other; gpuhostctl passes both\n");
        return 2;
    }
    if (!options.launcher.empty() && options.launcher != "systemd" && options.launcher != "direct") {
        std::fprintf(stderr, "gpuhostd: --launcher= accepts systemd or direct\n");
        return 2;
    }
    if (options.launcher == "systemd" && options.root != "/") {
        std::fprintf(stderr, "gpuhostd: --launcher=systemd does not support another --root=\n");
        return 2;
    }
    return std::nullopt;
}

base::Result<std::unique_ptr<host::Launcher>> make_launcher(const Options& options, host::Event& event,
                                                            const base::Root& root, sd_bus* bus) {
    const bool systemd =
        options.launcher.empty() ? root.is_host() && sd_booted() > 0 : options.launcher == "systemd";
    if (systemd)
        return host::SystemdLauncher::create(event, root, bus, options.worker);
    return std::make_unique<host::DirectLauncher>(event, root, options.worker);
}

base::Result<std::vector<host::Source>> watch_signals(host::Event& event, host::Manager& manager) {
    std::vector<host::Source> sources;
    for (const int signal : {SIGTERM, SIGINT}) {
        GPUHOST_TRY(source, event.on_signal(signal, [&event] { event.exit(0); }));
        sources.push_back(std::move(source));
    }
    GPUHOST_TRY(reload, event.on_signal(SIGHUP, [&manager] { (void)manager.reload(); }));
    sources.push_back(std::move(reload));
    return sources;
}

/// Plans and runs operations. It depends neither on the kind of caller (D-Bus or rescue) nor on how workers
/// are started.
struct Engine {
    core::StepKinds kinds = step_kinds();
    std::optional<host::Runner> runner;
    std::optional<host::Manager> manager;

    [[nodiscard]] base::Result<void> create(host::Event& event, const base::Root& root,
                                            host::Launcher& launcher) {
        GPUHOST_TRY(boot_id, root.read_line("/proc/sys/kernel/random/boot_id"));
        GPUHOST_TRY(kernel, root.read_line("/proc/sys/kernel/osrelease"));
        runner.emplace(event, root, launcher, kinds, boot_id);
        manager.emplace(event, root, *runner, make_components(root), setting_keys(), kernel);
        return {};
    }
};

base::Result<int> run(const Options& options) {
    GPUHOST_TRY(root, base::Root::open(options.root));
    GPUHOST_TRY(event, host::Event::create());
    GPUHOST_CHECK(event.enable_watchdog());
    GPUHOST_CHECK(core::rename_former_files(root));
    host::notify::status("starting");
    GPUHOST_TRY(bus, host::open_system_bus(event));
    GPUHOST_TRY(launcher, make_launcher(options, event, root, bus.get()));
    Engine engine;
    GPUHOST_CHECK(engine.create(event, root, *launcher));
    host::Manager& manager = *engine.manager;
    GPUHOST_TRY(signals, watch_signals(event, manager));
    const auto objects = bus_objects();
    GPUHOST_TRY(server, bus::Server::create(event, bus.get(), manager, objects));
    GPUHOST_CHECK(manager.start());
    GPUHOST_CHECK(server->request_name());
    host::notify::ready(manager.state());
    GPUHOST_TRY(status, event.run());
    signals.clear();
    host::notify::stopping();
    return status;
}

/// The two descriptors that gpuhostctl passes for a rescue. Workers do not inherit them.
struct RescueClient {
    base::UniqueFd socket;
    /// Pipe to gpuhostctl. If the client can't be served, the error is written to it. Otherwise it is closed
    /// without data as soon as the client is served.
    base::UniqueFd answer;
};

base::Result<RescueClient> receive_client(const std::string& number) {
    const auto fd = base::parse_uint(number);
    if (!fd || *fd > INT_MAX || ::fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC) < 0)
        return base::fail(base::Errc::InvalidArgument, "--client= requires the number of a socket");
    base::UniqueFd socket(static_cast<int>(*fd));
    base::UniqueFd answer(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    const base::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!answer || !nowhere || ::dup2(nowhere.get(), STDOUT_FILENO) < 0)
        return base::fail_errno("stdout", errno);
    return RescueClient{std::move(socket), std::move(answer)};
}

/// Serves one client for the mounted system. First undoes an unfinished operation of that system, with log
/// messages on stderr. If the client disconnects while an operation waits for disk space, the operation is
/// left unfinished. The next rescue, or the boot of that system, resumes it.
base::Result<void> rescue(const Options& options, RescueClient& client) {
    GPUHOST_TRY(place, host::enter_mounted_system(options.rescue, !options.read_only));
    GPUHOST_TRY(root, base::Root::open(place));
    if (!options.read_only)
        GPUHOST_CHECK(core::rename_former_files(root));
    GPUHOST_TRY(event, host::Event::create());
    host::DirectLauncher launcher(event, root, options.worker, host::DirectLauncher::Fate::DieWithDaemon);
    Engine engine;
    GPUHOST_CHECK(engine.create(event, root, launcher));
    host::Runner& runner = *engine.runner;
    runner.set_offline();
    GPUHOST_CHECK(engine.manager->start(options.read_only ? host::Manager::Mode::ReadOnly
                                                          : host::Manager::Mode::Mounted));
    bool left = false;
    host::Source hangup;
    GPUHOST_TRY(watch, event.on_io(client.socket.get(), EPOLLRDHUP, [&] {
        left = true;
        hangup.reset();
    }));
    hangup = std::move(watch);
    GPUHOST_CHECK(event.run_until([&] { return runner.running() == nullptr || (left && runner.waits()); }));
    if (left)
        return {};
    hangup.reset();
    base::log::set_level(base::log::Level::Warning); // from now on the client reports what happens
    GPUHOST_TRY(bus, host::serve_client(event, std::move(client.socket)));
    const auto objects = bus_objects();
    const auto server = bus::Server::create(event, bus.get(), *engine.manager, objects);
    if (!server)
        return base::fail(server.error());
    client.answer.reset();
    return event.run_until(
        [&] { return (runner.running() == nullptr || runner.waits()) && sd_bus_is_open(bus.get()) <= 0; });
}

/// Writes an error only to the pipe, because gpuhostctl prints it.
int rescue_main(const Options& options) {
    auto client = receive_client(options.client);
    const auto done = client ? rescue(options, *client) : base::fail(client.error());
    if (done)
        return 0;
    const std::string error = base::dump(base::to_json(done.error())) + "\n";
    (void)base::write_all(client && client->answer ? client->answer.get() : STDOUT_FILENO, error, "stdout");
    return 1;
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status = parse(std::span(argv, static_cast<std::size_t>(argc)), options))
        return *status;
    if (!options.introspect.empty()) {
        const auto xml = bus::introspect(options.introspect, bus_objects());
        std::fputs(xml ? xml->c_str() : (xml.error().message + "\n").c_str(), xml ? stdout : stderr);
        return xml ? 0 : 1;
    }
    ::umask(022);
    (void)std::signal(SIGPIPE, SIG_IGN);
    if (!options.rescue.empty())
        return rescue_main(options);
    host::log_to_journal();
    const auto status = run(options);
    if (!status) {
        base::log::error(status.error().message);
        return 1;
    }
    return *status;
}
