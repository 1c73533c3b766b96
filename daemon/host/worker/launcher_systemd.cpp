// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/launcher_systemd.hpp"

#include "daemon/base/local_users.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/host/worker/job_worker.hpp"
#include "daemon/host/worker/sandbox.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

namespace gpuhost::host {

namespace {

using base::Errc;
using base::Error;
using base::fail_errno;
using base::Result;
using base::UniqueFd;

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

/// Appends unit properties to a message. sd-bus keeps the first error of a message, so only result() is
/// checked.
class Properties {
  public:
    explicit Properties(sd_bus_message* message) : message_(message) {}

    void add(const UnitProperty& property) {
        open(property.name);
        std::visit([this](const auto& value) { put(value); }, property.value);
        close();
    }
    void add_command(const std::string& program, const std::string& job) {
        open("ExecStart");
        check(sd_bus_message_open_container(message_, 'v', "a(sasb)"));
        check(sd_bus_message_append(message_, "a(sasb)", 1, program.c_str(), 2, program.c_str(), job.c_str(),
                                    0));
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

/// Returns the writable paths of a worker. A leading "-" means that the path may be absent: most transactions
/// have no staging directory, and a step may create its own directories.
Words writable_for(const Launch& launch) {
    Words writable{core::job_directory(launch.request.job), "-" + launch.request.staging};
    for (const std::string& path : launch.writable)
        writable.push_back("-" + path);
    return writable;
}

std::vector<UnitProperty> unit_properties(const Launch& launch) {
    const std::string& job = launch.request.job;
    const std::string what =
        launch.request.phase == core::Phase::Preflight
            ? "checks"
            : std::string(core::name(launch.request.phase)) + ": " + launch.request.steps[0].summary;
    const std::string after = launch.more.count() > 0 ? ", and later steps" : "";
    auto properties = sandbox_properties(launch.sandbox, writable_for(launch));
    const auto microseconds =
        static_cast<std::uint64_t>(std::chrono::microseconds(launch.deadline + launch.more).count());
    // A worker that hangs in the kernel can't be killed. After two rounds of SIGKILL systemd marks the unit
    // as failed, and the daemon continues without the worker.
    constexpr std::uint64_t kill_us = 5'000'000;
    const std::vector<UnitProperty> common{
        {"Description", "GPU host worker " + job + ", " + what + after},
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
    properties.add_command(program, launch.request.job);
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

/// Returns true if the error means that systemd did not reply. The unit may then exist, or be started later.
bool is_silence(const sd_bus_error& error) {
    return sd_bus_error_has_names(&error, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT,
                                  SD_BUS_ERROR_DISCONNECTED, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                  SD_BUS_ERROR_NAME_HAS_NO_OWNER) != 0;
}

/// Returns true if the error is systemd's own reply that it has no such unit.
bool is_about_unit(const sd_bus_error& error) {
    return base::starts_with(error.name, "org.freedesktop.systemd1.") ||
           sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT) != 0;
}

class SystemdWorker : public JobWorker {
  public:
    SystemdWorker(Event& event, const base::Root& root, const std::string& job, std::string path,
                  UniqueFd socket, sd_bus* bus, Patience patience)
        : JobWorker(event, root, job, std::move(socket)), bus_(bus), unit_(unit_of(job)),
          path_(std::move(path)), patience_(patience) {}

    Result<void> attach(const Launch& launch, JobCallbacks callbacks, bool recovered) {
        GPUHOST_CHECK(follow(launch, std::move(callbacks), !recovered));
        int r = sd_bus_match_signal_async(bus_, base::OutPtr(changed_), systemd_name, path_.c_str(),
                                          "org.freedesktop.DBus.Properties", "PropertiesChanged",
                                          call<&SystemdWorker::changed>, nullptr, this);
        if (r >= 0)
            r = sd_bus_match_signal_async(bus_, base::OutPtr(removed_), systemd_name, manager_path,
                                          manager_interface, "UnitRemoved", call<&SystemdWorker::removed>,
                                          nullptr, this);
        if (r < 0)
            return fail_errno("watching a worker's unit", -r);
        ask_when_overdue_by(launch.deadline);
        ends_by_ = std::chrono::steady_clock::now() + launch.deadline + launch.more;
        // The unit's RuntimeMaxUSec= may cover several jobs, so the daemon enforces the deadline of this job.
        if (recovered || launch.more.count() > 0)
            kill_after(launch.deadline + patience_.overdue);
        return {};
    }

    Result<void> start(sd_bus_message* message) {
        if (const int r =
                sd_bus_call_async(bus_, base::OutPtr(call_), message, call<&SystemdWorker::started>, this, 0);
            r < 0)
            return fail_errno("starting a worker's unit", -r);
        return {};
    }

    /// Asks systemd for the unit's state, which is "inactive" if the unit does not exist. A missing reply
    /// never counts as the worker's end, because a second worker must not run beside it. If the bus
    /// connection is lost, the loop exits, and the next daemon recovers the worker.
    void ask() {
        if (sd_bus_is_open(bus_) <= 0)
            return;
        const int r = sd_bus_call_method_async(
            bus_, base::OutPtr(call_), systemd_name, path_.c_str(), "org.freedesktop.DBus.Properties",
            "GetAll", call<&SystemdWorker::on_active_state>, this, "s", unit_interface);
        if (r < 0)
            ask_after(patience_.again);
    }

  private:
    /// Stops the unit, whose KillSignal= is SIGKILL. KillUnit would find no process in a unit whose start is
    /// still queued.
    void kill_processes() override {
        (void)sd_bus_call_method_async(bus_, nullptr, systemd_name, manager_path, manager_interface,
                                       "StopUnit", nullptr, nullptr, "ss", unit_.c_str(), "replace");
    }

    using Duration = std::chrono::microseconds;

    void set_deadline(std::chrono::seconds deadline) override {
        ask_when_overdue_by(deadline);
        kill_after(deadline);
    }
    void clear_deadline() override { deadline_.reset(); }
    [[nodiscard]] bool has_time_for(std::chrono::seconds deadline) const override {
        return std::chrono::steady_clock::now() + deadline <= ends_by_;
    }

    void kill_after(Duration time) {
        expired_ = false;
        expire_after(time);
    }
    void expire_after(Duration time) {
        if (auto timer = event().after(time, [this] { expire(); }))
            deadline_ = *std::move(timer);
        else
            event().exit(EXIT_FAILURE);
    }
    /// Kills the worker, again and again until it ends: systemd may miss the request while it reloads all
    /// units.
    void expire() {
        expired_ = true;
        kill();
        expire_after(patience_.again);
    }

    void ask_after(Duration pause) {
        if (auto timer = event().after(pause, [this] { ask(); }))
            timer_ = *std::move(timer);
        else
            event().exit(EXIT_FAILURE);
    }
    void ask_when_overdue_by(std::chrono::seconds deadline) {
        overdue_ = std::chrono::steady_clock::now() + deadline + patience_.overdue;
        ask_when_overdue();
    }
    void ask_when_overdue() {
        const auto left = std::chrono::duration_cast<Duration>(overdue_ - std::chrono::steady_clock::now());
        ask_after(std::max(left, patience_.again));
    }

    template <void (SystemdWorker::*Handler)(sd_bus_message*)>
    static int call(sd_bus_message* message, void* userdata, sd_bus_error*) {
        auto* self = static_cast<SystemdWorker*>(userdata);
        return guard_or_exit(self->event().get(), "worker's unit", [=] { (self->*Handler)(message); });
    }

    void started(sd_bus_message* message) {
        const sd_bus_error* error = sd_bus_message_get_error(message);
        if (error && is_silence(*error))
            on_query_failed(*error);
        else if (error)
            end(&SystemdWorker::not_started, bus_error("starting a worker's unit", error));
    }

    void on_active_state(sd_bus_message* message) {
        const sd_bus_error* error = sd_bus_message_get_error(message);
        if (error && is_about_unit(*error))
            end(died("unit not found"));
        else if (error)
            on_query_failed(*error);
        else if (read_properties(message, unit_interface) < 0)
            ask_after(patience_.again);
        else if (is_over())
            end(death());
        else
            ask_when_overdue();
    }

    void on_query_failed(const sd_bus_error& error) {
        base::log::warning(bus_error("no reply about '" + unit_ + "', asking again", &error).message);
        ask_after(patience_.again);
    }

    /// Handles UnitRemoved. systemd sends it after the unit's end, but also while it reloads all units, so
    /// ask for the state.
    void removed(sd_bus_message* message) {
        const char* unit = nullptr;
        if (sd_bus_message_read(message, "s", &unit) >= 0 && unit_ == unit)
            ask();
    }

    /// Handles PropertiesChanged. systemd sends Result (interface Service) before ActiveState (interface
    /// Unit), so the result is known when the unit ends.
    void changed(sd_bus_message* message) {
        const char* interface = nullptr;
        if (sd_bus_message_read(message, "s", &interface) < 0 || read_properties(message, interface) < 0)
            ask();
        else if (is_over())
            end(death());
    }

    int read_properties(sd_bus_message* message, const std::string& interface) {
        int r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
            r = read_property(message, interface);
            if (r >= 0)
                r = sd_bus_message_exit_container(message);
        }
        return r;
    }

    int read_property(sd_bus_message* message, const std::string& interface) {
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

    /// Returns true if the unit has ended. A unit is also inactive while its start job is queued.
    [[nodiscard]] bool is_over() const { return !has_job_ && (active_ == "inactive" || active_ == "failed"); }

    static Error died(const std::string& how) {
        return {Errc::Interrupted, "the worker died before the end of its job: " + how,
                "See 'journalctl -t gpuhost-worker'."};
    }

    [[nodiscard]] Error death() const {
        if (expired_ || result_ == "timeout")
            return {Errc::Timeout, "the worker was killed after its deadline", {}};
        return died(result_.empty() ? "its unit was removed" : result_);
    }

    void end(Error how) { end(&SystemdWorker::over, std::move(how)); }
    void end(void (SystemdWorker::*tell)(Error), Error how) {
        changed_.reset();
        removed_.reset();
        call_.reset();
        timer_.reset();
        (this->*tell)(std::move(how)); // may destroy this
    }

    sd_bus* bus_;
    std::string unit_;
    std::string path_;
    Patience patience_;
    std::chrono::steady_clock::time_point overdue_;
    std::chrono::steady_clock::time_point ends_by_; ///< when systemd stops the unit, see RuntimeMaxUSec
    bool expired_ = false;
    bool has_job_ = false;
    std::string active_;
    std::string result_;
    Slot changed_;
    Slot removed_;
    Slot call_;
    Source timer_;
    Source deadline_;
};

} // namespace

Result<std::unique_ptr<Launcher>> SystemdLauncher::create(Event& event, const base::Root& root, sd_bus* bus,
                                                          std::string program, Patience patience) {
    // Subscribes without waiting for the reply. If systemd does not respond, the start of the first worker
    // reports it.
    if (const int r = sd_bus_call_method_async(bus, nullptr, systemd_name, manager_path, manager_interface,
                                               "Subscribe", nullptr, nullptr, nullptr);
        r < 0)
        return fail_errno("subscribing to systemd", -r);
    return std::unique_ptr<Launcher>(new SystemdLauncher(event, root, bus, std::move(program), patience));
}

Result<std::unique_ptr<Worker>> SystemdLauncher::start(const Launch& launch, std::span<const int> inputs,
                                                       JobCallbacks callbacks) {
    GPUHOST_TRY(user, owner(launch.sandbox));
    GPUHOST_TRY(socket, prepare_job(root_, launch.request, user, inputs));
    GPUHOST_TRY(message, start_message(bus_, launch, program_, socket.worker.get()));
    const std::string& job = launch.request.job;
    GPUHOST_TRY(path, path_of(unit_of(job)));
    auto worker =
        std::make_unique<SystemdWorker>(event_, root_, job, path, std::move(socket.daemon), bus_, patience_);
    GPUHOST_CHECK(worker->attach(launch, std::move(callbacks), false));
    GPUHOST_CHECK(worker->start(message.get()));
    return worker;
}

Result<std::unique_ptr<Worker>> SystemdLauncher::recover(const Launch& launch, JobCallbacks callbacks) {
    const std::string job = first_job(root_, launch.request.job);
    GPUHOST_TRY(path, path_of(unit_of(job)));
    auto worker = std::make_unique<SystemdWorker>(event_, root_, job, path, UniqueFd(), bus_, patience_);
    GPUHOST_CHECK(worker->attach(launch, std::move(callbacks), true));
    worker->ask();
    return worker;
}

Result<Launcher::Owner> SystemdLauncher::owner(core::Sandbox sandbox) const {
    const std::string user(user_of(sandbox));
    if (user.empty())
        return Owner{0, 0};
    const auto found = base::find_local_user(user);
    if (!found)
        return base::fail(Errc::NotFound, "user '" + user + "': not found",
                          "Create it with 'systemd-sysusers gpuhost.conf'.");
    return Owner{found->uid, found->gid};
}

} // namespace gpuhost::host
