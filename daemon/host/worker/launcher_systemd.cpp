// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/launcher_systemd.hpp"

#include "daemon/base/local_users.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/sandbox.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

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
        {"AddRef", true},
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

// --- one snapshot of a unit

/// The state of a unit, from one GetAll. A unit that systemd does not have is inactive.
struct UnitState {
    bool has_job = false; ///< a job is queued: a unit is also inactive before its start
    std::string active = "inactive";
    std::string result; ///< of the service: "success", "timeout", "oom-kill", …
};

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

int read_string(sd_bus_message* message, std::string& into) {
    const char* value = nullptr;
    const int r = sd_bus_message_read(message, "v", "s", &value);
    if (r >= 0)
        into = value;
    return r;
}

int read_property(sd_bus_message* message, UnitState& state) {
    const char* raw_name = nullptr;
    if (const int r = sd_bus_message_read(message, "s", &raw_name); r < 0)
        return r;
    const std::string_view name = raw_name;
    if (name == "ActiveState")
        return read_string(message, state.active);
    if (name == "Result")
        return read_string(message, state.result);
    if (name != "Job")
        return sd_bus_message_skip(message, "v");
    std::uint32_t job = 0;
    const int r = sd_bus_message_read(message, "v", "(uo)", &job, nullptr);
    state.has_job = r >= 0 && job != 0;
    return r;
}

/// Reads the reply to GetAll. Fails if the reply does not contain the unit's state.
Result<UnitState> read_state(sd_bus_message* reply) {
    const sd_bus_error* error = sd_bus_message_get_error(reply);
    UnitState state;
    if (error && is_about_unit(*error))
        return state;
    if (error)
        return base::fail(bus_error("asking for a worker's unit", error));
    int r = sd_bus_message_enter_container(reply, 'a', "{sv}");
    while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        r = read_property(reply, state);
        if (r >= 0)
            r = sd_bus_message_exit_container(reply);
    }
    if (r < 0)
        return fail_errno("reading the state of a worker's unit", -r);
    return state;
}

/// Returns why the worker ended, for a job without a result; nullopt while the unit runs. `expired`: the
/// daemon killed the unit after its deadline.
std::optional<Error> end_of(const UnitState& unit, bool expired) {
    if (unit.has_job || (unit.active != "inactive" && unit.active != "failed"))
        return std::nullopt;
    if (expired || unit.result == "timeout")
        return Error{Errc::Timeout, "the worker was killed after its deadline", {}};
    return Error{Errc::Interrupted,
                 "the worker died before the end of its job: " +
                     (unit.result.empty() ? "unit not found" : unit.result),
                 "See 'journalctl -t gpuhost-worker'."};
}

// --- one worker

/// A worker in a transient unit. Each signal about the unit, and the timer, request a snapshot of the unit.
/// end_of() then decides whether the worker has ended. The daemon refers to the unit (AddRef), so systemd
/// keeps the unit's result until the daemon has read it.
class SystemdWorker : public Worker {
  public:
    SystemdWorker(Event& event, const Launch& launch, JobCallbacks callbacks, std::string unit,
                  std::string path, UniqueFd socket, sd_bus* bus, Patience patience)
        : event_(event), bus_(bus), socket_(std::move(socket)), unit_(std::move(unit)),
          path_(std::move(path)), patience_(patience),
          watch_(launch, std::move(callbacks), [this] { kill(); }) {}

    Result<void> attach(const base::Root& root, const Launch& launch, bool recovered) {
        GPUHOST_CHECK(watch_.start(event_, root, recovered));
        // While systemd reloads all units, it sends UnitRemoved for units that remain.
        const std::string removed = std::string("type='signal',sender='") + systemd_name + "',path='" +
                                    manager_path + "',interface='" + manager_interface +
                                    "',member='UnitRemoved',arg0='" + unit_ + "'";
        int r = sd_bus_match_signal_async(bus_, base::OutPtr(changed_), systemd_name, path_.c_str(),
                                          "org.freedesktop.DBus.Properties", "PropertiesChanged",
                                          call<&SystemdWorker::on_signal>, nullptr, this);
        if (r >= 0)
            r = sd_bus_add_match_async(bus_, base::OutPtr(removed_), removed.c_str(),
                                       call<&SystemdWorker::on_signal>, nullptr, this);
        if (r < 0)
            return fail_errno("watching a worker's unit", -r);
        set_deadline(launch.deadline);
        return {};
    }

    Result<void> start(sd_bus_message* message) {
        if (const int r = sd_bus_call_async(bus_, base::OutPtr(start_), message,
                                            call<&SystemdWorker::on_started>, this, 0);
            r < 0)
            return fail_errno("starting a worker's unit", -r);
        return {};
    }

    /// Refers to the unit of an earlier daemon's worker, and requests its state.
    void recover() {
        call_manager("RefUnit");
        query();
    }

    /// Stops the unit, whose KillSignal= is SIGKILL. KillUnit would find no process in a unit whose start is
    /// still queued.
    void kill() override {
        (void)sd_bus_call_method_async(bus_, nullptr, systemd_name, manager_path, manager_interface,
                                       "StopUnit", nullptr, nullptr, "ss", unit_.c_str(), "replace");
    }
    void stop() override { socket_.reset(); }

    void set_deadline(std::chrono::seconds deadline) override {
        expired_ = false;
        due_ = std::chrono::steady_clock::now() + deadline + patience_.overdue;
        check_when_due();
    }

  private:
    using Duration = std::chrono::microseconds;

    void call_manager(const char* method) {
        (void)sd_bus_call_method_async(bus_, nullptr, systemd_name, manager_path, manager_interface, method,
                                       nullptr, nullptr, "s", unit_.c_str());
    }

    void check_when_due() {
        const auto left = std::chrono::duration_cast<Duration>(due_ - std::chrono::steady_clock::now());
        check_after(std::max(left, patience_.again));
    }
    void check_after(Duration pause) {
        if (auto timer = event_.after(pause, [this] { check(); }))
            timer_ = *std::move(timer);
        else
            event_.exit(EXIT_FAILURE);
    }
    /// Kills an overdue worker, again and again until it ends, because systemd may miss the request while it
    /// reloads all units. Reads the events first: if another step has begun since the last read, the deadline
    /// is later.
    void check() {
        watch_.read();
        if (std::chrono::steady_clock::now() >= due_) {
            expired_ = true;
            kill();
        }
        query();
    }
    /// Requests a snapshot, in place of one that was requested earlier.
    void query() {
        is_outdated_ = false;
        const int r = sd_bus_call_method_async(bus_, base::OutPtr(query_), systemd_name, path_.c_str(),
                                               "org.freedesktop.DBus.Properties", "GetAll",
                                               call<&SystemdWorker::on_state>, this, "s", "");
        if (r < 0)
            check_after(patience_.again);
    }

    template <void (SystemdWorker::*Handler)(sd_bus_message*)>
    static int call(sd_bus_message* message, void* userdata, sd_bus_error*) {
        auto* self = static_cast<SystemdWorker*>(userdata);
        return guard_or_exit(self->event_.get(), "worker's unit", [=] { (self->*Handler)(message); });
    }

    /// Requests a snapshot, but does not replace a pending query. A query about a unit that systemd does not
    /// have makes systemd load and remove that unit, which sends another signal.
    void on_signal(sd_bus_message* /*signal*/) {
        if (query_)
            is_outdated_ = true;
        else
            query();
    }

    void on_started(sd_bus_message* reply) {
        const sd_bus_error* error = sd_bus_message_get_error(reply);
        if (error && is_silence(*error))
            on_silence(bus_error("starting a worker's unit", error));
        else if (error)
            end(&JobWatch::not_started, bus_error("starting a worker's unit", error));
    }

    void on_state(sd_bus_message* reply) {
        query_.reset();
        const auto unit = read_state(reply);
        if (!unit)
            on_silence(unit.error());
        else if (auto error = end_of(*unit, expired_))
            end(&JobWatch::end, *std::move(error));
        else if (is_outdated_)
            query();
        else
            check_when_due();
    }

    void on_silence(const Error& error) {
        base::log::warning("no reply about '" + unit_ + "', asking again: " + error.message);
        check_after(patience_.again);
    }

    void end(void (JobWatch::*report)(Error), Error how) {
        changed_.reset();
        removed_.reset();
        start_.reset();
        query_.reset();
        timer_.reset();
        call_manager("UnrefUnit");
        (watch_.*report)(std::move(how)); // may destroy this
    }

    Event& event_;
    sd_bus* bus_;
    UniqueFd socket_; ///< the daemon's end of the worker's stdin; a recovered worker has none
    std::string unit_;
    std::string path_;
    Patience patience_;
    JobWatch watch_;
    std::chrono::steady_clock::time_point due_; ///< when the daemon kills the unit
    bool expired_ = false;                      ///< the unit was overdue
    bool is_outdated_ = false;                  ///< a signal arrived while a query was pending
    Slot changed_;
    Slot removed_;
    Slot start_;
    Slot query_;
    Source timer_;
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
    const std::string unit = unit_of(launch.request.job);
    GPUHOST_TRY(path, path_of(unit));
    auto worker = std::make_unique<SystemdWorker>(event_, launch, std::move(callbacks), unit, path,
                                                  std::move(socket.daemon), bus_, patience_);
    GPUHOST_CHECK(worker->attach(root_, launch, false));
    GPUHOST_CHECK(worker->start(message.get()));
    return worker;
}

Result<std::unique_ptr<Worker>> SystemdLauncher::recover(const Launch& launch, JobCallbacks callbacks) {
    const std::string unit = unit_of(first_job(root_, launch.request.job));
    GPUHOST_TRY(path, path_of(unit));
    auto worker = std::make_unique<SystemdWorker>(event_, launch, std::move(callbacks), unit, path,
                                                  UniqueFd(), bus_, patience_);
    GPUHOST_CHECK(worker->attach(root_, launch, true));
    worker->recover();
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
