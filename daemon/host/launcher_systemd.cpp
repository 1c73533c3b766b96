// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/launcher_systemd.hpp"

#include "daemon/host/job_files.hpp"
#include "daemon/host/sandbox.hpp"

#include <array>
#include <csignal>
#include <cstdlib>

#include <pwd.h>

namespace gpuhost::host {

namespace {

using base::Errc;
using base::Error;
using base::fail_errno;
using base::Result;

constexpr const char* systemd_name = "org.freedesktop.systemd1";
constexpr const char* manager_path = "/org/freedesktop/systemd1";
constexpr const char* manager_interface = "org.freedesktop.systemd1.Manager";
constexpr const char* unit_interface = "org.freedesktop.systemd1.Unit";
constexpr const char* service_interface = "org.freedesktop.systemd1.Service";

std::string unit_of(std::string_view job) {
    return "gpuhost-worker-" + std::string(job) + ".service";
}

Result<std::string> path_of(const std::string& unit) {
    char* path = nullptr;
    if (const int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &path); r < 0)
        return fail_errno(unit, -r);
    const base::CHandle<char, std::free> owned(path);
    return std::string(path);
}

// --- properties

/// sd-bus keeps the first error of a message being built, so the calls need no check of their own but the
/// last.
class Properties {
  public:
    explicit Properties(sd_bus_message* message) : message_(message) {}

    void add(const UnitProperty& property) {
        open(property.name);
        std::visit([this](const auto& value) { put(value); }, property.value);
        close();
    }
    void add_command(const std::vector<std::string>& argv) {
        open("ExecStart");
        check(sd_bus_message_open_container(message_, 'v', "a(sasb)"));
        check(sd_bus_message_append(message_, "a(sasb)", 1, argv[0].c_str(), static_cast<int>(argv.size()),
                                    argv[0].c_str(), argv[1].c_str(), 0));
        check(sd_bus_message_close_container(message_));
        close();
    }
    void add_input(int fd) {
        open("StandardInputFileDescriptor");
        check(sd_bus_message_append(message_, "v", "h", fd));
        close();
    }
    [[nodiscard]] int result() const { return result_; }

  private:
    void open(const std::string& name) {
        check(sd_bus_message_open_container(message_, 'r', "sv"));
        check(sd_bus_message_append(message_, "s", name.c_str()));
    }
    void close() { check(sd_bus_message_close_container(message_)); }
    void put(bool value) { check(sd_bus_message_append(message_, "v", "b", static_cast<int>(value))); }
    void put(std::uint64_t value) { check(sd_bus_message_append(message_, "v", "t", value)); }
    void put(std::int32_t value) { check(sd_bus_message_append(message_, "v", "i", value)); }
    void put(std::uint32_t value) { check(sd_bus_message_append(message_, "v", "u", value)); }
    void put(const std::string& value) { check(sd_bus_message_append(message_, "v", "s", value.c_str())); }
    void put(const Words& words) {
        check(sd_bus_message_open_container(message_, 'v', "as"));
        strings(words);
        check(sd_bus_message_close_container(message_));
    }
    void put(const Filter& filter) {
        check(sd_bus_message_open_container(message_, 'v', "(bas)"));
        check(sd_bus_message_open_container(message_, 'r', "bas"));
        check(sd_bus_message_append(message_, "b", static_cast<int>(filter.allow)));
        strings(filter.names);
        check(sd_bus_message_close_container(message_));
        check(sd_bus_message_close_container(message_));
    }
    void strings(const Words& words) {
        check(sd_bus_message_open_container(message_, 'a', "s"));
        for (const auto& word : words)
            check(sd_bus_message_append(message_, "s", word.c_str()));
        check(sd_bus_message_close_container(message_));
    }
    void check(int r) {
        if (result_ >= 0)
            result_ = r;
    }

    sd_bus_message* message_;
    int result_ = 0;
};

std::vector<UnitProperty> unit_properties(const Launch& launch) {
    const std::string& job = launch.request.job;
    const std::string what =
        launch.request.phase == core::Phase::Preflight
            ? "checks"
            : std::string(core::name(launch.request.phase)) + ": " + launch.request.steps[0].summary;
    auto properties = sandbox_properties(launch.sandbox, core::job_directory(job), launch.request.staging);
    const auto microseconds = static_cast<std::uint64_t>(std::chrono::microseconds(launch.deadline).count());
    // A module that hangs in the kernel can't be killed: after two rounds of SIGKILL the unit is "failed",
    // and the daemon goes on without it.
    constexpr std::uint64_t kill_us = 5'000'000;
    const std::vector<UnitProperty> common{
        {"Description", "GPU host worker " + job + ", " + what},
        {"Type", std::string("exec")},
        {"CollectMode", std::string("inactive-or-failed")},
        {"RuntimeMaxUSec", microseconds},
        {"TimeoutStopUSec", kill_us},
        {"KillSignal", std::int32_t{SIGKILL}},
        {"OOMPolicy", std::string("kill")},
        {"SyslogIdentifier", std::string("gpuhost-worker")},
    };
    properties.insert(properties.begin(), common.begin(), common.end());
    return properties;
}

Result<Message> start_message(sd_bus* bus, const Launch& launch, const std::string& program, int input) {
    Message message;
    int r = sd_bus_message_new_method_call(bus, base::OutPtr(message), systemd_name, manager_path,
                                           manager_interface, "StartTransientUnit");
    if (r >= 0)
        r = sd_bus_message_append(message.get(), "ss", unit_of(launch.request.job).c_str(), "fail");
    if (r >= 0)
        r = sd_bus_message_open_container(message.get(), 'a', "(sv)");
    if (r < 0)
        return fail_errno("describing a worker's unit", -r);
    Properties properties(message.get());
    for (const auto& property : unit_properties(launch))
        properties.add(property);
    properties.add_command({program, launch.request.job});
    properties.add_input(input);
    r = properties.result();
    if (r >= 0)
        r = sd_bus_message_close_container(message.get());
    if (r >= 0)
        r = sd_bus_message_append(message.get(), "a(sa(sv))", 0);
    if (r < 0)
        return fail_errno("describing a worker's unit", -r);
    return message;
}

// --- one worker

class SystemdWorker : public Worker {
  public:
    SystemdWorker(sd_bus* bus, std::string unit, std::string path, JobCallbacks callbacks)
        : bus_(bus), unit_(std::move(unit)), path_(std::move(path)),
          watch_(std::move(callbacks), [this] { kill(); }) {}

    Result<void> watch(Event& event, const base::Root& root, const Launch& launch, bool must_have_files) {
        if (auto watching = watch_.start(event, root, launch.request.job); !watching && must_have_files)
            return watching;
        int r = sd_bus_match_signal_async(bus_, base::OutPtr(changed_), systemd_name, path_.c_str(),
                                          "org.freedesktop.DBus.Properties", "PropertiesChanged", on_changed,
                                          nullptr, this);
        if (r >= 0)
            r = sd_bus_match_signal_async(bus_, base::OutPtr(removed_), systemd_name, manager_path,
                                          manager_interface, "UnitRemoved", on_removed, nullptr, this);
        if (r < 0)
            return fail_errno("watching a worker's unit", -r);
        return {};
    }

    Result<void> start(sd_bus_message* message) {
        if (const int r = sd_bus_call_async(bus_, base::OutPtr(call_), message, on_started, this, 0); r < 0)
            return fail_errno("starting a worker's unit", -r);
        return {};
    }

    /// Asks for its state, which is "inactive" for a unit that is gone.
    Result<void> ask() {
        const int r = sd_bus_call_method_async(bus_, base::OutPtr(call_), systemd_name, path_.c_str(),
                                               "org.freedesktop.DBus.Properties", "Get", on_state, this, "ss",
                                               unit_interface, "ActiveState");
        if (r < 0)
            return fail_errno("looking for a worker's unit", -r);
        return {};
    }

    void kill() override {
        (void)sd_bus_call_method_async(bus_, nullptr, systemd_name, manager_path, manager_interface,
                                       "KillUnit", nullptr, nullptr, "ssi", unit_.c_str(), "all", SIGKILL);
    }

  private:
    static int on_started(sd_bus_message* message, void* userdata, sd_bus_error*) {
        return guard("worker started", [=] {
            if (sd_bus_message_is_method_error(message, nullptr))
                static_cast<SystemdWorker*>(userdata)->end(
                    bus_error("starting a worker's unit", sd_bus_message_get_error(message)));
            return 0;
        });
    }

    static int on_state(sd_bus_message* message, void* userdata, sd_bus_error*) {
        return guard("worker state", [=] {
            const char* state = nullptr;
            const bool known = !sd_bus_message_is_method_error(message, nullptr) &&
                               sd_bus_message_read(message, "v", "s", &state) >= 0;
            if (!known || is_over(state))
                static_cast<SystemdWorker*>(userdata)->end(died("it is gone"));
            return 0;
        });
    }

    static int on_removed(sd_bus_message* message, void* userdata, sd_bus_error*) {
        return guard("worker removed", [=] {
            auto* self = static_cast<SystemdWorker*>(userdata);
            const char* unit = nullptr;
            if (sd_bus_message_read(message, "s", &unit) >= 0 && self->unit_ == unit)
                self->end(self->death());
            return 0;
        });
    }

    static int on_changed(sd_bus_message* message, void* userdata, sd_bus_error*) {
        return guard("worker changed", [=] {
            auto* self = static_cast<SystemdWorker*>(userdata);
            if (const int r = self->read_changes(message); r < 0)
                return r;
            // Before its start job ran it is inactive, too. systemd tells of the service (its result) before
            // the unit.
            if (is_over(self->active_) && !self->has_job_)
                self->end(self->death());
            return 0;
        });
    }

    int read_changes(sd_bus_message* message) {
        const char* interface = nullptr;
        int r = sd_bus_message_read(message, "s", &interface);
        if (r >= 0)
            r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
            r = read_change(message, interface);
            if (r >= 0)
                r = sd_bus_message_exit_container(message);
        }
        return r;
    }

    int read_change(sd_bus_message* message, const std::string& interface) {
        const char* raw_name = nullptr;
        if (const int r = sd_bus_message_read(message, "s", &raw_name); r < 0)
            return r;
        const std::string name = raw_name;
        if (interface == unit_interface && name == "Job") {
            std::uint32_t job = 0;
            const int r = sd_bus_message_read(message, "v", "(uo)", &job, nullptr);
            has_job_ = r >= 0 && job != 0;
            return r;
        }
        if (interface == unit_interface && name == "ActiveState")
            return read_string(message, active_);
        if (interface == service_interface && name == "Result")
            return read_string(message, result_);
        return sd_bus_message_skip(message, "v");
    }

    static int read_string(sd_bus_message* message, std::string& into) {
        const char* value = nullptr;
        const int r = sd_bus_message_read(message, "v", "s", &value);
        if (r >= 0)
            into = value;
        return r;
    }

    static bool is_over(std::string_view state) { return state == "inactive" || state == "failed"; }

    static Error died(const std::string& how) {
        return {Errc::Interrupted, "the worker died half way: " + how, "See 'journalctl -t gpuhost-worker'."};
    }

    [[nodiscard]] Error death() const {
        if (result_ == "timeout")
            return {Errc::Timeout, "the worker was killed after its deadline", {}};
        return died(result_.empty() ? "its unit is gone" : result_);
    }

    void end(Error how) {
        changed_.reset();
        removed_.reset();
        call_.reset();
        watch_.end(std::move(how)); // may destroy this
    }

    sd_bus* bus_;
    bool has_job_ = false;
    std::string unit_;
    std::string path_;
    JobWatch watch_;
    std::string active_;
    std::string result_;
    Slot changed_;
    Slot removed_;
    Slot call_;
};

} // namespace

Result<std::unique_ptr<Launcher>> SystemdLauncher::create(Event& event, const base::Root& root, sd_bus* bus,
                                                          std::string program) {
    // Without a reply: a manager that does not answer shows with the first worker.
    if (const int r = sd_bus_call_method_async(bus, nullptr, systemd_name, manager_path, manager_interface,
                                               "Subscribe", nullptr, nullptr, nullptr);
        r < 0)
        return fail_errno("subscribing to systemd", -r);
    return std::unique_ptr<Launcher>(new SystemdLauncher(event, root, bus, std::move(program)));
}

Result<std::unique_ptr<Worker>> SystemdLauncher::start(const Launch& launch, std::span<const int> inputs,
                                                       JobCallbacks callbacks) {
    GPUHOST_TRY(user, owner(launch.sandbox));
    GPUHOST_TRY(input, prepare_job(root_, launch.request, user, inputs));
    GPUHOST_TRY(message, start_message(bus_, launch, program_, input.get()));
    const std::string unit = unit_of(launch.request.job);
    GPUHOST_TRY(path, path_of(unit));
    auto worker = std::make_unique<SystemdWorker>(bus_, unit, path, std::move(callbacks));
    GPUHOST_CHECK(worker->watch(event_, root_, launch, true));
    GPUHOST_CHECK(worker->start(message.get()));
    return worker;
}

Result<std::unique_ptr<Worker>> SystemdLauncher::adopt(const Launch& launch, JobCallbacks callbacks) {
    const std::string unit = unit_of(launch.request.job);
    GPUHOST_TRY(path, path_of(unit));
    auto worker = std::make_unique<SystemdWorker>(bus_, unit, path, std::move(callbacks));
    GPUHOST_CHECK(worker->watch(event_, root_, launch, false));
    GPUHOST_CHECK(worker->ask());
    return worker;
}

Result<Launcher::Owner> SystemdLauncher::owner(core::Sandbox sandbox) const {
    const std::string user(user_of(sandbox));
    if (user.empty())
        return Owner{0, 0};
    std::array<char, 4096> buffer;
    passwd entry{};
    passwd* found = nullptr;
    if (const int r = ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found); r != 0)
        return fail_errno("user '" + user + "'", r);
    if (!found)
        return base::fail(Errc::NotFound, "there is no user '" + user + "'",
                          "Create it with 'systemd-sysusers gpuhost.conf'.");
    return Owner{entry.pw_uid, entry.pw_gid};
}

} // namespace gpuhost::host
