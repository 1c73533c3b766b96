// SPDX-License-Identifier: Apache-2.0
// gpuhostd: puts the parts together, nothing else.
#include "daemon/base/arguments.hpp"
#include "daemon/base/installed.hpp"
#include "daemon/bus/introspect.hpp"
#include "daemon/bus/server.hpp"
#include "daemon/host/journal_sink.hpp"
#include "daemon/host/launcher_direct.hpp"
#include "daemon/host/launcher_systemd.hpp"
#include "daemon/host/notify.hpp"
#include "daemon/rooms.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include <sys/stat.h>
#include <systemd/sd-daemon.h>

namespace {

using namespace gpuhost; // NOLINT: this file only

constexpr const char* usage = R"(gpuhostd [OPTIONS]

Installs and swaps NVIDIA's kernel driver on this host. Started by systemd; see gpuhostd(8).

  --root=DIR             look at and change the tree below DIR (default: /)
  --launcher=KIND        how workers run: systemd (transient units) or direct (children);
                         default: systemd where it is the init and the root is /
  --worker=PATH          the worker program
  --bus-introspect=PATH  print the D-Bus interfaces of an object and exit
  -h, --help             print this
      --version          print the version
)";

struct Options {
    std::string root = "/";
    std::string launcher;
    std::string worker = base::installed_program("gpuhost-worker");
    std::string introspect;
};

/// The exit status when there is nothing more to do.
std::optional<int> parse(std::span<char*> argv, Options& options) {
    if (const auto status = base::parse_arguments(argv, {"gpuhostd", usage},
                                                  {{"--root=", &options.root},
                                                   {"--launcher=", &options.launcher},
                                                   {"--worker=", &options.worker},
                                                   {"--bus-introspect=", &options.introspect}}))
        return status;
    if (!options.launcher.empty() && options.launcher != "systemd" && options.launcher != "direct") {
        std::fprintf(stderr, "gpuhostd: --launcher= takes systemd or direct\n");
        return 2;
    }
    if (options.launcher == "systemd" && options.root != "/") {
        std::fprintf(stderr, "gpuhostd: systemd's workers can't be given another --root=\n");
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

base::Result<int> run(const Options& options) {
    GPUHOST_TRY(root, base::Root::open(options.root));
    GPUHOST_TRY(event, host::Event::create());
    GPUHOST_CHECK(event.enable_watchdog());
    host::notify::status("starting");
    GPUHOST_TRY(bus, host::open_system_bus(event));
    GPUHOST_TRY(launcher, make_launcher(options, event, root, bus.get()));
    GPUHOST_TRY(boot_id, root.read_line("/proc/sys/kernel/random/boot_id"));
    GPUHOST_TRY(kernel, root.read_line("/proc/sys/kernel/osrelease"));
    core::StepKinds kinds;
    add_step_kinds(kinds);
    host::Runner runner(event, root, *launcher, kinds, boot_id);
    host::Manager manager(event, root, runner, make_components(root), setting_keys(), kernel);
    GPUHOST_TRY(signals, watch_signals(event, manager));
    const auto rooms = bus_objects();
    GPUHOST_TRY(server, bus::Server::create(event, bus.get(), manager, rooms));
    GPUHOST_CHECK(manager.start());
    GPUHOST_CHECK(server->request_name());
    host::notify::ready(manager.state());
    GPUHOST_TRY(status, event.run());
    signals.clear();
    host::notify::stopping();
    return status;
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
    host::log_to_journal();
    ::umask(022);
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto status = run(options);
    if (!status) {
        base::log::error(status.error().message);
        return 1;
    }
    return *status;
}
