// SPDX-License-Identifier: Apache-2.0
// gpuhost-devices: offers GPUs to the kubelet as gpuhostd tells it to; see daemon/devices/offer.hpp. It asks
// neither NVML nor gpuhostd, and does nothing while nothing changes. The standard input is /dev/kmsg, which
// only the service manager may open.
#include "daemon/base/arguments.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/devices/health/health.hpp"
#include "daemon/devices/monitor/fault_monitor.hpp"
#include "daemon/devices/monitor/health_report.hpp"
#include "daemon/devices/plugin/plugin.hpp"
#include "daemon/host/event.hpp"
#include "daemon/host/journal_sink.hpp"
#include "daemon/host/notify.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <span>

#include <sys/inotify.h>
#include <unistd.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Result;
using devices::Offer;
using devices::Plugin;

constexpr const char* usage = R"(gpuhost-devices [OPTIONS]

Offers the GPUs of this host to the kubelet, as a device plugin. Started by systemd; see gpuhost-devices(8).

  --root=DIR   use the tree below DIR (default: /)
  -h, --help   print this
  --version    print the version
)";

constexpr std::string_view sockets = "/run/gpuhost-devices";
constexpr std::string_view registry = "/run/gpuhost-devices/registry"; ///< the unit binds the kubelet's here

void log(const base::Error& error) {
    base::log::error(error.message);
    if (!error.hint.empty())
        base::log::error(error.hint);
}

class Devices {
  public:
    Devices(const base::Root& root, host::Event& event)
        : root_(root), event_(event), faults_(root, event, [this] { follow_faults(); }) {}

    /// Serves until gpuhostd removes the offer or the service manager ends the program.
    Result<int> run() {
        GPUHOST_TRY(directory, root_.open_file(devices::offer_directory, O_RDONLY | O_DIRECTORY));
        const auto changes =
            event_.on_inotify(directory.get(), IN_MOVED_TO | IN_DELETE, [this] { follow(); });
        const auto ending = event_.on_signal(SIGTERM, [this] { event_.exit(0); });
        if (!changes || !ending)
            return base::fail(Errc::Failed, "watching for offers and signals");
        remove_remnants();
        GPUHOST_CHECK(faults_.start(STDIN_FILENO));
        GPUHOST_CHECK(load());
        host::notify::ready("serving");
        GPUHOST_TRY(code, event_.run());
        host::notify::stopping();
        plugins_.clear();
        GPUHOST_CHECK(root_.remove(devices::answer_path));
        return code;
    }

  private:
    /// Removes what a former process has left: outside systemd, a crash leaves its files.
    void remove_remnants() {
        for (const std::string_view directory : {sockets, registry})
            for (const std::string& name : root_.list(directory).value_or(std::vector<std::string>()))
                if (base::ends_with(name, ".sock"))
                    (void)root_.remove(std::string(directory) + "/" + name);
        (void)root_.remove(devices::answer_path);
    }

    void follow() {
        if (const auto done = load(); !done)
            log(done.error());
    }

    /// Serves the present offer. Keeps the former one if the file can't be used.
    [[nodiscard]] Result<void> load() {
        const auto text = root_.read(devices::offer_path, devices::largest_offer);
        if (!text && text.error().code == Errc::NotFound) {
            base::log::info("gpuhostd offers no devices: ending");
            event_.exit(0);
            return {};
        }
        if (!text)
            return base::fail(text.error());
        GPUHOST_TRY(offer, devices::parse_offer(*text));
        offer_ = std::move(offer);
        faults_.apply(offer_.gpus, offer_.health);
        update_health();
        GPUHOST_CHECK(serve());
        id_ = offer_.id;
        return answer();
    }

    /// Tells the kubelet and gpuhostd only of a changed health: errors may repeat many times in a second.
    void follow_faults() {
        if (!update_health())
            return;
        auto done = serve();
        if (done)
            done = answer();
        if (!done)
            log(done.error());
    }

    /// Derives the health of the offered devices. Returns true if it has changed, or whether it is known.
    bool update_health() {
        std::vector<devices::DeviceHealth> present = devices::evaluate_health(faults_.log(), offer_);
        const bool is_same = present == health_ && faults_.blind() == blind_;
        blind_ = faults_.blind();
        if (is_same)
            return false;
        devices::report_health(offer_, health_, present);
        health_ = std::move(present);
        return true;
    }

    [[nodiscard]] Result<void> serve() {
        std::vector<devices::Resource> resources = devices::resources_of(offer_);
        for (devices::Resource& resource : resources)
            devices::add_health(resource, health_);
        const auto unwanted = [&](const auto& plugin) {
            return std::none_of(resources.begin(), resources.end(),
                                [&](const auto& resource) { return resource.name == plugin.first; });
        };
        std::erase_if(plugins_, unwanted);
        // Plugins that run are updated first: GPUs are withdrawn also if another plugin can't start.
        for (const devices::Resource& resource : resources)
            if (const auto found = plugins_.find(resource.name); found != plugins_.end())
                found->second.offer(resource, offer_.withdrawn);
        Result<void> done;
        for (devices::Resource& resource : resources) {
            if (plugins_.count(resource.name) != 0)
                continue;
            auto plugin = start(resource.name);
            if (plugin) {
                plugin->offer(resource, offer_.withdrawn);
                plugins_.emplace(resource.name, *std::move(plugin));
            } else if (done) {
                done = base::fail(plugin.error());
            }
        }
        return done;
    }

    [[nodiscard]] Result<Plugin> start(const std::string& resource) {
        devices::PluginOptions options;
        options.resource = resource;
        options.registry = root_.host_path(registry);
        options.sockets = root_.host_path(sockets);
        options.on_change = [this] {
            if (const auto done = answer(); !done)
                log(done.error());
        };
        options.on_failure = [this](const base::Error& error) {
            log(error);
            // systemd starts it again. If the kubelet's directory was removed, each start fails until
            // 'gpuhostctl apply' or gpuhost-cdi.timer has made it again.
            event_.exit(base::info(error.code).exit_code);
        };
        options.allow_own_user = !root_.is_host();
        return Plugin::start(event_, std::move(options));
    }

    /// Tells gpuhostd what is served.
    [[nodiscard]] Result<void> answer() {
        devices::Answer answer{id_, {}, health_, blind_};
        for (const auto& [name, plugin] : plugins_)
            answer.resources.push_back(plugin.served());
        return root_.write_atomic(devices::answer_path, to_text(answer));
    }

    const base::Root& root_;
    host::Event& event_;
    std::map<std::string, Plugin> plugins_; ///< by resource
    Offer offer_;                           ///< the last one
    std::string id_;                        ///< of the offer that is served
    devices::FaultMonitor faults_;
    std::vector<devices::DeviceHealth> health_; ///< of the devices that are not healthy
    std::string blind_;                         ///< see devices::Answer
};

Result<int> run(const std::string& directory) {
    GPUHOST_TRY(root, base::Root::open(directory));
    GPUHOST_TRY(event, host::Event::create());
    return Devices(root, event).run();
}

} // namespace

int main(int argc, char* argv[]) {
    host::log_to_journal();
    std::string root = "/";
    if (const auto status = base::parse_arguments(std::span(argv, static_cast<std::size_t>(argc)),
                                                  {"gpuhost-devices", usage}, {{"--root=", &root}}))
        return *status;
    const auto code = run(root);
    if (code)
        return *code;
    log(code.error());
    return base::info(code.error().code).exit_code;
}
