// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/launcher_systemd.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

using base::Errc;

constexpr const char* manager_path = "/org/freedesktop/systemd1";
constexpr const char* manager_interface = "org.freedesktop.systemd1.Manager";
constexpr const char* unit_path = "/org/freedesktop/systemd1/unit/gpuhost_2dworker_2d3_2d2_2d1_2eservice";

/// The service manager on a private connection. It accepts units, and reports the states that the test sets.
class FakeSystemd {
  public:
    FakeSystemd(Event& event, int fd) {
        sd_id128_t id{};
        EXPECT_GE(sd_id128_randomize(&id), 0);
        EXPECT_GE(sd_bus_new(base::OutPtr(bus)), 0);
        EXPECT_GE(sd_bus_set_fd(bus.get(), fd, fd), 0);
        EXPECT_GE(sd_bus_set_server(bus.get(), 1, id), 0);
        EXPECT_GE(sd_bus_negotiate_fds(bus.get(), 1), 0);
        EXPECT_GE(sd_bus_set_anonymous(bus.get(), 1), 0);
        EXPECT_GE(sd_bus_start(bus.get()), 0);
        EXPECT_GE(sd_bus_attach_event(bus.get(), event.get(), SD_EVENT_PRIORITY_NORMAL), 0);
        EXPECT_GE(sd_bus_add_filter(bus.get(), nullptr, on_message, this), 0);
    }

    /// Reports a change of the unit. The worker must not need the signal's content.
    void changed(const char* interface = "org.freedesktop.systemd1.Unit") {
        Message signal = new_signal(unit_path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
        EXPECT_GE(sd_bus_message_append(signal.get(), "sa{sv}as", interface, 0, 0), 0);
        EXPECT_GE(sd_bus_message_send(signal.get()), 0);
    }
    void state(const char* state, unsigned job) {
        known_state = state;
        known_job = job;
        changed();
    }
    void removed(const char* name) {
        Message signal = new_signal(manager_path, manager_interface, "UnitRemoved");
        EXPECT_GE(sd_bus_message_append(signal.get(), "so", name, unit_path), 0);
        EXPECT_GE(sd_bus_message_send(signal.get()), 0);
    }

    [[nodiscard]] bool input_has_ended() const {
        char byte = 0;
        return ::recv(input.get(), &byte, 1, MSG_DONTWAIT) == 0;
    }

    std::string unit;
    std::string description;
    std::map<std::string, std::string> properties; ///< name → type
    std::vector<std::string> command;
    std::vector<std::string> writable;
    std::vector<std::string> killed;
    base::UniqueFd input; ///< the worker's stdin
    bool refuse = false;
    bool silent = false;                  ///< accepts calls but does not answer
    const char* error = nullptr;          ///< the answer to GetAll
    std::string known_state = "inactive"; ///< the state of a queried unit
    std::string known_result = "success";
    unsigned known_job = 0;
    int asked = 0;
    std::string asked_path;
    int references = 0;   ///< of the daemon to the unit
    bool is_stub = false; ///< systemd does not have the unit: each call about it loads and removes one

  private:
    Message new_signal(const char* path, const char* interface, const char* member) {
        Message signal;
        EXPECT_GE(sd_bus_message_new_signal(bus.get(), base::OutPtr(signal), path, interface, member), 0);
        EXPECT_GE(sd_bus_message_set_sender(signal.get(), "org.freedesktop.systemd1"), 0);
        return signal;
    }
    static int on_message(sd_bus_message* m, void* userdata, sd_bus_error*) {
        auto* self = static_cast<FakeSystemd*>(userdata);
        if (sd_bus_message_is_method_call(m, manager_interface, "StartTransientUnit") > 0)
            return self->start(m);
        if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "GetAll") > 0)
            return self->tell(m);
        if (sd_bus_message_is_method_call(m, manager_interface, "StopUnit") > 0) {
            const char* name = nullptr;
            const char* mode = nullptr;
            EXPECT_GE(sd_bus_message_read(m, "ss", &name, &mode), 0);
            EXPECT_STREQ(mode, "replace"); // also replaces a queued start
            self->killed.emplace_back(name);
        }
        if (sd_bus_message_is_method_call(m, manager_interface, "RefUnit") > 0) {
            ++self->references;
            if (self->is_stub)
                self->removed("gpuhost-worker-3-2-1.service");
        }
        if (sd_bus_message_is_method_call(m, manager_interface, "UnrefUnit") > 0)
            --self->references;
        return 0;
    }
    int tell(sd_bus_message* m) {
        ++asked;
        asked_path = sd_bus_message_get_path(m);
        if (silent)
            return 1;
        if (error)
            return sd_bus_reply_method_errorf(m, error, "no");
        const char* interface = nullptr;
        EXPECT_GE(sd_bus_message_read(m, "s", &interface), 0);
        EXPECT_STREQ(interface, "") << "all interfaces";
        const int r = sd_bus_reply_method_return(m, "a{sv}", 4, "Id", "s", unit.c_str(), "ActiveState", "s",
                                                 known_state.c_str(), "Job", "(uo)", known_job, "/", "Result",
                                                 "s", known_result.c_str());
        if (is_stub)
            removed("gpuhost-worker-3-2-1.service");
        return r;
    }
    int start(sd_bus_message* m) {
        EXPECT_STREQ(sd_bus_message_get_signature(m, 1), "ssa(sv)a(sa(sv))");
        if (refuse)
            return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitExists", "it is there");
        const char* name = nullptr;
        const char* mode = nullptr;
        EXPECT_GE(sd_bus_message_read(m, "ss", &name, &mode), 0);
        unit = name;
        EXPECT_GE(sd_bus_message_enter_container(m, 'a', "(sv)"), 0);
        while (sd_bus_message_enter_container(m, 'r', "sv") > 0) {
            const char* property = nullptr;
            const char* type = nullptr;
            char variant = 0;
            EXPECT_GE(sd_bus_message_read(m, "s", &property), 0);
            EXPECT_GE(sd_bus_message_peek_type(m, &variant, &type), 0);
            properties[property] = type;
            references += std::strcmp(property, "AddRef") == 0 ? 1 : 0;
            if (std::strcmp(property, "Description") == 0)
                read_description(m);
            else if (std::strcmp(property, "ExecStart") == 0)
                read_command(m);
            else if (std::strcmp(property, "ReadWritePaths") == 0)
                read_writable(m);
            else if (std::strcmp(property, "StandardInputFileDescriptor") == 0)
                read_input(m);
            else
                EXPECT_GE(sd_bus_message_skip(m, "v"), 0);
            EXPECT_GE(sd_bus_message_exit_container(m), 0);
        }
        return silent ? 1 : sd_bus_reply_method_return(m, "o", "/org/freedesktop/systemd1/job/1");
    }
    void read_description(sd_bus_message* m) {
        const char* text = "";
        EXPECT_GE(sd_bus_message_read(m, "v", "s", &text), 0);
        description = text;
    }
    void read_writable(sd_bus_message* m) {
        EXPECT_GE(sd_bus_message_enter_container(m, 'v', "as"), 0);
        EXPECT_GE(sd_bus_message_enter_container(m, 'a', "s"), 0);
        const char* path = nullptr;
        while (sd_bus_message_read(m, "s", &path) > 0)
            writable.emplace_back(path);
        for (int i = 0; i < 2; ++i)
            EXPECT_GE(sd_bus_message_exit_container(m), 0);
    }
    void read_input(sd_bus_message* m) {
        int fd = -1;
        EXPECT_GE(sd_bus_message_read(m, "v", "h", &fd), 0);
        input.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    void read_command(sd_bus_message* m) {
        const char* path = nullptr;
        EXPECT_GE(sd_bus_message_enter_container(m, 'v', "a(sasb)"), 0);
        EXPECT_GE(sd_bus_message_enter_container(m, 'a', "(sasb)"), 0);
        EXPECT_GE(sd_bus_message_enter_container(m, 'r', "sasb"), 0);
        EXPECT_GE(sd_bus_message_read(m, "s", &path), 0);
        EXPECT_GE(sd_bus_message_enter_container(m, 'a', "s"), 0);
        const char* argument = nullptr;
        while (sd_bus_message_read(m, "s", &argument) > 0)
            command.emplace_back(argument);
        EXPECT_GE(sd_bus_message_exit_container(m), 0);
        EXPECT_GE(sd_bus_message_skip(m, "b"), 0);
        for (int i = 0; i < 3; ++i)
            EXPECT_GE(sd_bus_message_exit_container(m), 0);
    }

    BusPtr bus;
};

class SystemdLauncherTest : public testing::Test {
  protected:
    void SetUp() override {
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()), 0);
        systemd.emplace(event, pair[0]);
        ASSERT_GE(sd_bus_new(base::OutPtr(bus)), 0);
        ASSERT_GE(sd_bus_set_fd(bus.get(), pair[1], pair[1]), 0);
        ASSERT_GE(sd_bus_negotiate_fds(bus.get(), 1), 0);
        ASSERT_GE(sd_bus_set_anonymous(bus.get(), 1), 0);
        ASSERT_GE(sd_bus_start(bus.get()), 0);
        ASSERT_GE(sd_bus_attach_event(bus.get(), event.get(), SD_EVENT_PRIORITY_NORMAL), 0);
        for (int turns = 0; turns < 100 && sd_bus_is_ready(bus.get()) == 0; ++turns)
            ASSERT_GE(sd_event_run(event.get(), 200'000), 0);
        ASSERT_GT(sd_bus_is_ready(bus.get()), 0);
        auto made =
            SystemdLauncher::create(event, root, bus.get(), "/usr/libexec/gpuhost/gpuhost-worker", patience);
        ASSERT_TRUE(made);
        launcher = *std::move(made);
    }
    static Launch launch() {
        Launch made;
        made.request.job = "3-2-1";
        made.request.phase = core::Phase::Apply;
        made.request.staging = "/var/lib/gpuhost/staging/3";
        made.request.steps = {{"store.publish", "put it in place", base::Json::object()}};
        made.sandbox = core::Sandbox::Store;
        made.writable = {"/var/log/it"};
        made.deadline = std::chrono::seconds(7);
        return made;
    }
    JobCallbacks callbacks() {
        return {[](const core::JobProgress&) {}, [this](JobEnd made) { ended = std::move(made); },
                [this](core::JobResult made) { steps.push_back(std::move(made)); }};
    }
    void start() { start(launch()); }
    void start(const Launch& what) {
        auto started = launcher->start(what, {}, callbacks());
        ASSERT_TRUE(started) << started.error().message;
        worker = *std::move(started);
        turn();
    }
    void recover() {
        auto recovered = launcher->recover(launch(), callbacks());
        ASSERT_TRUE(recovered) << recovered.error().message;
        worker = *std::move(recovered);
        turn();
    }
    void turn() {
        for (int i = 0; i < 100; ++i)
            (void)sd_event_run(event.get(), 1000);
    }
    /// Runs the loop until `done`. Returns false after the time limit.
    bool becomes(const std::function<bool()>& so) {
        const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!so() && std::chrono::steady_clock::now() < late)
            (void)sd_event_run(event.get(), 10'000);
        return so();
    }
    /// Runs the loop until the unit was queried once more, and the answer was read.
    bool is_asked_again() {
        const int before = systemd->asked;
        const bool asked = becomes([&] { return systemd->asked > before; });
        turn();
        return asked;
    }
    void write_result() {
        directory.write("run/gpuhost/jobs/3-2-1/events",
                        "{\"result\": \"ok\", \"output\": {\"done\": true}}\n");
    }

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    Event event = *Event::create();
    const Patience patience{std::chrono::milliseconds(10), std::chrono::milliseconds(10)};
    std::optional<FakeSystemd> systemd;
    BusPtr bus;
    std::unique_ptr<Launcher> launcher;
    std::unique_ptr<Worker> worker;
    std::optional<JobEnd> ended;
    std::vector<core::JobResult> steps; ///< that ended before the last one
};

TEST_F(SystemdLauncherTest, UnitPropertiesHaveSystemdsTypes) {
    start();
    EXPECT_EQ(systemd->unit, "gpuhost-worker-3-2-1.service");
    EXPECT_EQ(systemd->command, (std::vector<std::string>{"/usr/libexec/gpuhost/gpuhost-worker", "3-2-1"}));
    const std::map<std::string, std::string> types{
        {"Type", "s"},           {"CollectMode", "s"},           {"RuntimeMaxUSec", "t"},
        {"KillSignal", "i"},     {"TimeoutStopUSec", "t"},       {"StandardInputFileDescriptor", "h"},
        {"ProtectSystem", "s"},  {"CapabilityBoundingSet", "t"}, {"SystemCallFilter", "(bas)"},
        {"UMask", "u"},          {"ReadWritePaths", "as"},       {"NoNewPrivileges", "b"},
        {"ExecStart", "a(sasb)"}};
    for (const auto& [name, type] : types)
        EXPECT_EQ(systemd->properties[name], type) << name;
    EXPECT_EQ(systemd->writable,
              (std::vector<std::string>{"/run/gpuhost/jobs/3-2-1", "-/var/lib/gpuhost/staging/3",
                                        "-/var/log/it", "/var/lib/gpuhost"}));
    EXPECT_TRUE(root.exists("/run/gpuhost/jobs/3-2-1/request.json"));
}

TEST_F(SystemdLauncherTest, ReportsTheWorkersResult) {
    start();
    systemd->state("inactive", 17); // its start job is queued
    systemd->state("active", 0);
    turn();
    EXPECT_FALSE(ended);
    write_result();
    systemd->state("inactive", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->result.error);
    EXPECT_EQ(ended->result.output, (base::Json{{"done", true}}));
}

TEST_F(SystemdLauncherTest, RemovedUnitIsADeath) {
    start();
    systemd->removed("some-other.service");
    turn();
    EXPECT_FALSE(ended);
    systemd->removed("gpuhost-worker-3-2-1.service");
    turn();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died);
}

TEST_F(SystemdLauncherTest, TimedOutUnitIsNotADeath) {
    start();
    systemd->known_result = "timeout";
    systemd->state("failed", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Reported);
    EXPECT_EQ(ended->result.error->code, Errc::Timeout);
}

TEST_F(SystemdLauncherTest, DeathNamesSystemdsResult) {
    start();
    EXPECT_EQ(systemd->references, 1) << "systemd keeps the unit until its result was read";
    systemd->known_result = "oom-kill";
    systemd->state("failed", 0);
    turn();
    EXPECT_EQ(systemd->references, 0);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died);
    EXPECT_NE(ended->result.error->message.find("oom-kill"), std::string::npos);
}

TEST_F(SystemdLauncherTest, RefusedUnitIsNotStarted) {
    systemd->refuse = true;
    start();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::NotStarted);
    EXPECT_NE(ended->result.error->message.find("it is there"), std::string::npos);
}

TEST_F(SystemdLauncherTest, RecoversARunningUnit) {
    systemd->known_state = "active";
    directory.write("run/gpuhost/jobs/3-2-1/events", "");
    recover();
    EXPECT_FALSE(ended);
    EXPECT_EQ(systemd->references, 1);
    write_result();
    systemd->state("inactive", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->result.error);
    EXPECT_EQ(systemd->references, 0);
}

TEST_F(SystemdLauncherTest, RecoversAFormerVersionsLaterJob) {
    directory.write("run/gpuhost/jobs/3-4-1/events", "");
    directory.write("run/gpuhost/jobs/3-4-1/worker", "3-2-1\n");
    Launch later = launch();
    later.request.job = "3-4-1";
    systemd->known_state = "active";
    auto recovered = launcher->recover(later, callbacks());
    ASSERT_TRUE(recovered);
    worker = *std::move(recovered);
    turn();
    EXPECT_EQ(systemd->asked_path, unit_path);
    worker->kill();
    turn();
    EXPECT_EQ(systemd->killed, std::vector<std::string>{"gpuhost-worker-3-2-1.service"});
}

TEST_F(SystemdLauncherTest, ResultOfAMissingUnitIsRead) {
    directory.write("run/gpuhost/jobs/3-2-1/events", "{\"result\": \"ok\", \"output\": {\"done\": true}}\n");
    recover();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->result.error);
}

TEST_F(SystemdLauncherTest, MissingUnitWithoutResultIsADeath) {
    recover();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died);
}

TEST_F(SystemdLauncherTest, KillsTheWholeUnit) {
    start();
    worker->kill();
    turn();
    EXPECT_EQ(systemd->killed, std::vector<std::string>{"gpuhost-worker-3-2-1.service"});
    EXPECT_EQ(systemd->properties["KillSignal"], "i");
}

// --- several steps in one unit

/// A unit whose worker runs two steps.
class GroupUnit : public SystemdLauncherTest {
  protected:
    static Launch group() {
        Launch made = launch();
        made.request.steps.push_back(made.request.steps.front());
        made.more = std::chrono::seconds(60);
        return made;
    }
};

TEST_F(GroupUnit, EachStepIsReported) {
    start(group());
    systemd->state("active", 0);
    directory.write("run/gpuhost/jobs/3-2-1/events",
                    "{\"result\": \"ok\", \"output\": {\"done\": true}}\n" + core::encode_next(1));
    turn();
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].output, (base::Json{{"done", true}}));
    EXPECT_FALSE(ended);
    systemd->known_result = "oom-kill";
    systemd->state("failed", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died) << "in the second step";
}

TEST_F(GroupUnit, DescriptionNamesPhaseAndStep) {
    start(group());
    EXPECT_EQ(systemd->description, "GPU host worker 3-2-1, apply: put it in place, and later steps");
    Launch checks = launch();
    checks.request.job = "3-2-2";
    checks.request.phase = core::Phase::Preflight;
    start(checks);
    EXPECT_EQ(systemd->description, "GPU host worker 3-2-2, checks");
}

TEST_F(GroupUnit, StopEndsStdin) {
    start(group());
    EXPECT_FALSE(systemd->input_has_ended());
    worker->stop();
    EXPECT_TRUE(systemd->input_has_ended());
    EXPECT_TRUE(systemd->killed.empty());
}

TEST_F(GroupUnit, StepsDeadlineKillsTheUnit) {
    systemd->known_state = "active";
    start(group());
    worker->set_deadline(std::chrono::seconds(0));
    EXPECT_TRUE(becomes([this] { return systemd->killed.size() > 1; })) << "the kill is repeated";
    systemd->state("failed", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->result.error->code, Errc::Timeout);
}

TEST_F(GroupUnit, EndedStepHasNoDeadline) {
    systemd->known_state = "active";
    JobCallbacks all = callbacks();
    all.step = [this](const core::JobResult&) { worker->set_deadline(std::chrono::seconds(600)); };
    auto started = launcher->start(group(), {}, all);
    ASSERT_TRUE(started);
    worker = *std::move(started);
    turn();
    worker->set_deadline(std::chrono::seconds(0));
    // The loop sees the new events after the timer, but before it calls the timer's callback.
    const auto first = event.soon([this] {
        directory.write("run/gpuhost/jobs/3-2-1/events",
                        "{\"result\": \"ok\", \"output\": {}}\n" + core::encode_next(1));
    });
    ASSERT_TRUE(first);
    ASSERT_GE(sd_event_source_set_priority(first->get(), SD_EVENT_PRIORITY_IMPORTANT), 0);
    ::usleep(50'000);
    turn();
    EXPECT_TRUE(systemd->killed.empty());
}

// --- a missing answer is not an end

TEST_F(SystemdLauncherTest, StartWithoutAnswerIsQueriedAgain) {
    ASSERT_GE(sd_bus_set_method_call_timeout(bus.get(), 1000), 0);
    systemd->silent = true;
    start();
    EXPECT_TRUE(is_asked_again());
    EXPECT_FALSE(ended);
    systemd->silent = false;
    systemd->known_state = "active";
    EXPECT_TRUE(is_asked_again());
    EXPECT_FALSE(ended);
    write_result();
    systemd->state("inactive", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->result.error);
}

TEST_F(SystemdLauncherTest, RecoveredUnitIsQueriedUntilAnswered) {
    for (const char* error :
         {SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_ACCESS_DENIED}) {
        systemd->error = error;
        recover();
        EXPECT_TRUE(is_asked_again()) << error;
        EXPECT_FALSE(ended) << error;
    }
    systemd->error = nullptr;
    EXPECT_TRUE(becomes([this] { return ended.has_value(); }));
}

TEST_F(SystemdLauncherTest, UnknownUnitIsADeath) {
    systemd->error = "org.freedesktop.systemd1.NoSuchUnit";
    recover();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died);
}

TEST_F(SystemdLauncherTest, QueryThatCausesASignalIsNotReplaced) {
    systemd->is_stub = true;
    recover();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Died);
    EXPECT_LE(systemd->asked, 2);
}

TEST_F(SystemdLauncherTest, SignalDuringAQueryIsFollowedByAnother) {
    systemd->known_state = "active";
    start();
    systemd->changed();
    systemd->changed();
    systemd->state("failed", 0);
    EXPECT_TRUE(becomes([this] { return ended.has_value(); }));
}

TEST_F(SystemdLauncherTest, RecoveredUnitWithAQueuedStartIsAlive) {
    systemd->known_job = 17;
    recover();
    EXPECT_FALSE(ended);
}

TEST_F(SystemdLauncherTest, UnitSurvivesADaemonReload) {
    systemd->known_state = "active";
    start();
    systemd->removed("gpuhost-worker-3-2-1.service");
    EXPECT_TRUE(is_asked_again());
    EXPECT_FALSE(ended);
}

TEST_F(SystemdLauncherTest, LostConnectionEndsNoWorker) {
    systemd->silent = true;
    recover();
    start();
    systemd.reset();
    turn();
    EXPECT_EQ(sd_bus_is_open(bus.get()), 0);
    EXPECT_FALSE(ended);
}

TEST_F(SystemdLauncherTest, MissedEndIsFoundAfterTheDeadline) {
    systemd->known_state = "deactivating";
    Launch overdue = launch();
    overdue.deadline = std::chrono::seconds(0);
    auto started = launcher->start(overdue, {}, callbacks());
    ASSERT_TRUE(started);
    worker = *std::move(started);
    EXPECT_TRUE(becomes([this] { return systemd->asked >= 2; }));
    EXPECT_FALSE(ended);
    systemd->known_state = "failed";
    EXPECT_TRUE(becomes([this] { return ended.has_value(); }));
}

TEST_F(SystemdLauncherTest, WorkerWithinItsDeadlineIsNotQueried) {
    start();
    turn();
    EXPECT_EQ(systemd->asked, 0);
}

// --- any order of signals

/// Random lives of a unit. systemd's signals may be missing, repeated, late, or about nothing; its replies
/// may be missing too. Only the end of the unit ends the job.
class RandomUnit : public SystemdLauncherTest, public testing::WithParamInterface<unsigned> {
  protected:
    [[nodiscard]] unsigned random(unsigned values) {
        return std::uniform_int_distribution<unsigned>(0, values - 1)(random_);
    }
    /// Sends some signals, and runs the loop for some iterations.
    void disturb() {
        for (unsigned n = random(4); n > 0; --n) {
            switch (random(5)) {
            case 0:
                systemd->changed();
                break;
            case 1:
                systemd->changed("org.freedesktop.systemd1.Service");
                break;
            case 2:
                systemd->removed("gpuhost-worker-3-2-1.service");
                break;
            case 3:
                systemd->removed("other.service");
                break;
            default:
                systemd->error = random(2) == 0 ? SD_BUS_ERROR_NO_REPLY : nullptr;
                break;
            }
            for (unsigned turns = random(8); turns > 0; --turns)
                (void)sd_event_run(event.get(), 100);
        }
    }
    void become(const char* state, unsigned job) {
        disturb();
        systemd->known_state = state;
        systemd->known_job = job;
        disturb();
        EXPECT_FALSE(ended) << state;
    }
    std::minstd_rand random_{GetParam()};
};

TEST_P(RandomUnit, EndsOnceWithTheRightResult) {
    const std::array results{"success", "exit-code", "timeout", "oom-kill", "signal"};
    const std::string result = results.at(random(results.size()));
    const bool reports = random(2) == 0;
    const bool recovered = random(2) == 0;
    Launch what = launch();
    what.deadline = std::chrono::seconds(600);
    systemd->known_job = 17;
    if (recovered)
        directory.write("run/gpuhost/jobs/3-2-1/events", "");
    auto made = recovered ? launcher->recover(what, callbacks()) : launcher->start(what, {}, callbacks());
    ASSERT_TRUE(made);
    worker = *std::move(made);
    become("inactive", 17);
    become("activating", 17);
    become("active", 0);
    if (reports)
        write_result();
    become("deactivating", random(2));
    disturb();
    systemd->known_result = result;
    systemd->known_job = 0;
    systemd->known_state = result == "success" ? "inactive" : "failed";
    disturb();
    systemd->error = nullptr;
    systemd->changed(); // the last change of a unit is always reported
    ASSERT_TRUE(becomes([this] { return ended.has_value(); }));
    const bool timed_out = !reports && result == "timeout";
    EXPECT_EQ(ended->how, reports || timed_out ? JobEnd::How::Reported : JobEnd::How::Died);
    EXPECT_EQ(ended->result.error.has_value(), !reports);
    if (ended->result.error) {
        EXPECT_EQ(ended->result.error->code, timed_out ? Errc::Timeout : Errc::Interrupted);
    }
    ended.reset();
    systemd->changed();
    turn();
    EXPECT_FALSE(ended) << "a second time";
    EXPECT_EQ(systemd->references, 0);
    EXPECT_TRUE(systemd->killed.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomUnit, testing::Range(1U, 41U));

TEST_F(SystemdLauncherTest, WorkerThatFloodsItsEventsIsKilled) {
    start();
    directory.write("run/gpuhost/jobs/3-2-1/events", std::string(core::event_limit + 1, ' '));
    turn();
    EXPECT_EQ(systemd->killed, std::vector<std::string>{"gpuhost-worker-3-2-1.service"});
    systemd->state("failed", 0);
    turn();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->how, JobEnd::How::Violated);
    EXPECT_EQ(ended->result.error->code, Errc::BadContent);
}

TEST_F(SystemdLauncherTest, ExceptionInACallbackEndsTheDaemon) {
    auto started =
        launcher->start(launch(), {}, {{}, [](const JobEnd&) { throw std::runtime_error("boom"); }});
    ASSERT_TRUE(started);
    worker = *std::move(started);
    turn();
    systemd->state("failed", 0);
    const auto late = event.after(std::chrono::seconds(10), [this] { event.exit(0); });
    EXPECT_EQ(event.run().value_or(-1), EXIT_FAILURE);
}

} // namespace
} // namespace gpuhost::host
