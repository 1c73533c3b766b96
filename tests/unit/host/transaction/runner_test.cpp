// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/runner.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/host/fake_launcher.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gpuhost::host {
namespace {

using base::Errc;
using core::Outcome;

constexpr const char* boot = "b0010000-0000-4000-8000-000000000001";

core::StepKinds make_kinds() {
    core::StepKinds kinds;
    const auto add = [&kinds](const char* name, core::Sandbox sandbox, bool interruptible) {
        core::StepKind kind;
        kind.name = name;
        kind.sandbox = sandbox;
        kind.writable = {std::string("/var/") + name};
        kind.interruptible = interruptible;
        kind.has_preflight = kind.has_undo = true;
        kinds.add(std::move(kind));
    };
    add("read", core::Sandbox::Parse, true);
    add("load", core::Sandbox::Modules, false);
    add("link", core::Sandbox::System, false);
    core::StepKind kind = *kinds.find("load");
    kind.name = "start";
    kind.ends_with_boot = true;
    kinds.add(kind);
    kind.name = "insert";
    kind.changes_kernel = true;
    kinds.add(kind);
    kind.changes_kernel = false;
    kind.name = "undo";
    kind.has_apply = false;
    kinds.add(kind);
    kind.name = "look";
    kind.has_apply = true;
    kind.has_undo = false;
    kinds.add(std::move(kind));
    return kinds;
}

core::Plan make_plan(const std::vector<std::string>& kinds) {
    core::Plan plan;
    plan.kind = "test";
    plan.title = "try it";
    for (const auto& kind : kinds)
        plan.steps.push_back({kind, "do " + kind, base::Json::object()});
    return plan;
}

/// One run of a daemon on a tree that outlives it.
struct Life {
    explicit Life(const base::Root& root, const std::string& boot_id = boot)
        : runner(event, root, launcher, kinds, boot_id) {
        runner.listen(
            {[this](const Operation&) { ++added; }, [](const Operation&) {},
             [this](const Operation& operation) { outcomes.push_back(*operation.transaction.outcome()); },
             [this](const Operation& operation) { removed.push_back(operation.id); }});
    }
    void turn() {
        for (int i = 0; i < 10; ++i)
            (void)sd_event_run(event.get(), 0);
    }
    /// Runs the loop until `done`, at most slightly longer than the pause before another launch.
    void wait(const std::function<bool()>& until) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!until() && std::chrono::steady_clock::now() < deadline)
            (void)sd_event_run(event.get(), 100'000);
    }
    std::uint64_t start(core::Plan plan, std::vector<base::UniqueFd> inputs = {}) {
        const auto id = runner.start(std::move(plan), tests::person(), std::move(inputs));
        EXPECT_TRUE(id) << id.error().message;
        turn();
        return id.value_or(0);
    }
    [[nodiscard]] std::string at() {
        const auto& request = launcher.last().launch.request;
        return std::string(core::name(request.phase)) + " " + request.steps.front().kind;
    }

    Event event = *Event::create();
    core::StepKinds kinds = make_kinds();
    tests::FakeLauncher launcher;
    Runner runner;
    int added = 0;
    std::vector<Outcome> outcomes;
    std::vector<std::uint64_t> removed;
};

class RunnerTest : public testing::Test {
  protected:
    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
};

TEST_F(RunnerTest, RunsEveryPhaseInOrderAndCommits) {
    Life life(root);
    const auto id = life.start(make_plan({"load", "link"}));
    EXPECT_EQ(life.at(), "preflight load");
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply load");
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply link");
    directory.write("run/gpuhost/jobs/1-1-1/events", "");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
    EXPECT_EQ(life.added, 1);
    EXPECT_EQ(life.runner.find(id)->progress, 1);
    EXPECT_FALSE(life.runner.running());
    EXPECT_FALSE(root.exists("/run/gpuhost/jobs/1-1-1"));
}

TEST_F(RunnerTest, DocumentNamesTheChangeOfTheDriver) {
    Life life(root);
    core::Plan plan = make_plan({"load"});
    EXPECT_FALSE(to_json(*life.runner.find(life.start(plan))).contains("driver"));
    life.launcher.end();
    life.launcher.end();
    plan.driver = core::DriverChange{"6.1.0", "535.261.03", "550.163.01"};
    const base::Json expected{{"kernel", "6.1.0"}, {"from", "535.261.03"}, {"to", "550.163.01"}};
    EXPECT_EQ(base::member(to_json(*life.runner.find(life.start(plan))), "driver"), expected);
}

TEST_F(RunnerTest, StepsOfOneSandboxAreAGroup) {
    Life life(root);
    core::Plan plan = make_plan({"load", "start", "link", "load", "load", "load"});
    plan.steps[4].forward = true;
    life.start(plan);
    EXPECT_EQ(life.launcher.last().launch.more.count(), 0) << "preflight";
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply load");
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    EXPECT_EQ(life.launcher.last().launch.more, std::chrono::seconds(60));
    life.launcher.step();
    EXPECT_EQ(life.runner.find(1)->text, "do start");
    EXPECT_EQ(life.launcher.last().deadline, std::chrono::seconds(60));
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply link");
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 1U);
    life.launcher.end();
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 1U) << "ends before the point of no return";
    life.launcher.end();
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    life.launcher.step();
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
    EXPECT_EQ(life.launcher.jobs.size(), 5U);
}

TEST_F(RunnerTest, FailureInAGroupUndoesItsBegunSteps) {
    Life life(root);
    life.start(make_plan({"load", "start", "load"}));
    life.launcher.end();
    life.launcher.step();
    life.launcher.fail(Errc::Failed);
    EXPECT_EQ(life.at(), "undo start");
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, ViolationUndoesTheWholeGroup) {
    Life life(root);
    life.start(make_plan({"load", "start", "insert", "link"}));
    life.launcher.end();
    life.launcher.step();
    core::JobResult result;
    result.error = base::Error{Errc::BadContent, "it writes too much", {}};
    life.launcher.end(result, JobEnd::How::Violated);
    for (const char* step : {"undo insert", "undo start", "undo load"}) {
        EXPECT_EQ(life.at(), step);
        life.launcher.end();
    }
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, DeathInAGroupRepeatsItsBegunStep) {
    Life life(root);
    life.start(make_plan({"load", "start", "load"}));
    life.launcher.end();
    life.launcher.step();
    life.launcher.die();
    EXPECT_EQ(life.at(), "apply start");
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    EXPECT_EQ(life.runner.find(1)->transaction.attempts(), 2U);
}

TEST_F(RunnerTest, CancelStopsAGroupAfterItsStep) {
    Life life(root);
    const auto id = life.start(make_plan({"load", "start", "load"}));
    life.launcher.end();
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    EXPECT_TRUE(life.launcher.last().stopped);
    EXPECT_FALSE(life.launcher.last().killed);
    life.launcher.step(); // it had begun the next step
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo start");
    life.launcher.end();
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Cancelled});
}

TEST_F(RunnerTest, InterruptibleStepIsTheLastOfItsGroup) {
    Life life(root);
    core::StepKind wait = *life.kinds.find("load");
    wait.name = "wait";
    wait.interruptible = true;
    life.kinds.add(wait);
    const auto id = life.start(make_plan({"load", "wait", "load"}));
    life.launcher.end();
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    EXPECT_FALSE(life.launcher.last().killed);
    life.launcher.step();
    EXPECT_TRUE(life.launcher.last().killed);
    life.launcher.die();
    EXPECT_EQ(life.at(), "undo wait");
}

TEST_F(RunnerTest, OfflineGroupEndsBeforeASkippedStep) {
    Life rescue(root);
    rescue.runner.set_offline();
    ASSERT_TRUE(rescue.runner.resume());
    rescue.start(make_plan({"load", "start"}));
    rescue.launcher.end();
    EXPECT_EQ(rescue.launcher.last().launch.request.steps.size(), 1U);
    rescue.launcher.end();
    EXPECT_EQ(rescue.at(), "undo load");
}

TEST_F(RunnerTest, RestartedDaemonRecoversTheGroup) {
    {
        Life life(root);
        life.start(make_plan({"load", "start", "load"}));
        life.launcher.end();
        life.launcher.die(); // the second attempt is in the job's name
        life.launcher.step();
    }
    directory.write("run/gpuhost/jobs/1-3-2/request.json", "");
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    ASSERT_EQ(life.launcher.jobs.size(), 1U);
    EXPECT_TRUE(life.launcher.last().recovered);
    EXPECT_EQ(life.launcher.last().launch.request.job, "1-3-2");
    EXPECT_EQ(life.launcher.last().launch.recorded, 1U);
    EXPECT_EQ(life.at(), "apply start");
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply load");
    EXPECT_FALSE(life.launcher.last().recovered);
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, RecoveredWorkerHasTheDeadlineOfItsStep) {
    const auto use = [](Life& life) {
        core::StepKind slow = *life.kinds.find("load");
        slow.name = "slow";
        slow.deadline = std::chrono::seconds(900);
        life.kinds.add(slow);
    };
    {
        Life life(root);
        use(life);
        life.start(make_plan({"load", "slow", "load"}));
        life.launcher.end();
    }
    Life life(root);
    use(life);
    life.launcher.steps_at_recovery = 1; // its end was not recorded
    ASSERT_TRUE(life.runner.resume());
    EXPECT_TRUE(life.launcher.last().recovered);
    EXPECT_EQ(life.runner.find(1)->transaction.next().step, 1U);
    EXPECT_EQ(life.launcher.last().deadline, std::chrono::seconds(900));
}

TEST_F(RunnerTest, PowerCutUndoesTheWholeGroup) {
    {
        Life life(root);
        life.start(make_plan({"load", "insert", "load"}));
        life.launcher.end();
        life.launcher.step();
    }
    Life life(root, "b0010000-0000-4000-8000-000000000002");
    ASSERT_TRUE(life.runner.resume());
    EXPECT_EQ(life.launcher.jobs.size(), 1U);
    for (const char* step : {"undo load", "undo insert", "undo load"}) {
        EXPECT_EQ(life.at(), step);
        life.launcher.end();
    }
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, WorkerOfAnUnrecordedJobIsAwaited) {
    {
        Life life(root);
        life.start(make_plan({"load", "link", "load"}));
        life.launcher.end();
        life.launcher.end();
    }
    directory.write("run/gpuhost/jobs/1-4-1/request.json", "");
    Life life(root);
    life.launcher.refusals = 1; // the bus is not connected yet
    ASSERT_TRUE(life.runner.resume());
    EXPECT_TRUE(life.launcher.jobs.empty());
    life.wait([&] { return !life.launcher.jobs.empty(); });
    ASSERT_EQ(life.launcher.last().launch.request.job, "1-4-1");
    EXPECT_TRUE(life.launcher.last().recovered);
    life.launcher.end();
    ASSERT_EQ(life.launcher.jobs.size(), 2U);
    EXPECT_TRUE(life.launcher.last().recovered);
    EXPECT_EQ(life.launcher.last().launch.request.job, "1-3-1") << "the job of the newest Start";
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo link");
}

TEST_F(RunnerTest, WorkerWithInputsRunsOneJob) {
    Life life(root);
    std::vector<base::UniqueFd> inputs;
    inputs.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    life.start(make_plan({"load", "load"}), std::move(inputs));
    life.launcher.end();
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 1U);
}

TEST_F(RunnerTest, OfflineRescueUndoesOnlyFileSteps) {
    {
        Life crashed(root);
        crashed.start(make_plan({"start", "link", "start"}));
        crashed.launcher.end();
        crashed.launcher.end();
        crashed.launcher.end();
        EXPECT_EQ(crashed.at(), "apply start");
    }
    Life rescue(root, "b0010000-0000-4000-8000-000000000002");
    rescue.runner.set_offline();
    ASSERT_TRUE(rescue.runner.resume());
    rescue.turn();
    EXPECT_EQ(rescue.at(), "undo link") << "started units ended with their boot";
    rescue.launcher.end();
    EXPECT_EQ(rescue.launcher.jobs.size(), 1U);
    EXPECT_EQ(rescue.outcomes, std::vector{Outcome::RolledBack});
    EXPECT_EQ(rescue.runner.find(1)->transaction.states().front(), core::StepState::Undone);
}

TEST_F(RunnerTest, OfflineRescueContinuesAfterPointOfNoReturn) {
    {
        Life crashed(root);
        core::Plan plan = make_plan({"link", "start", "link"});
        plan.steps[1].forward = true;
        crashed.start(std::move(plan));
        crashed.launcher.end();
        crashed.launcher.end();
        EXPECT_EQ(crashed.at(), "apply start");
    }
    Life rescue(root, "b0010000-0000-4000-8000-000000000002");
    rescue.runner.set_offline();
    ASSERT_TRUE(rescue.runner.resume());
    rescue.turn();
    EXPECT_EQ(rescue.at(), "apply link");
    rescue.launcher.end();
    EXPECT_EQ(rescue.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, OfflineRescueRefusesStepsOfRunningSystems) {
    Life rescue(root);
    rescue.runner.set_offline();
    ASSERT_TRUE(rescue.runner.resume());
    rescue.start(make_plan({"link", "start"}));
    rescue.launcher.end();
    rescue.launcher.end();
    EXPECT_EQ(rescue.at(), "undo link");
    rescue.launcher.end();
    EXPECT_EQ(rescue.outcomes, std::vector{Outcome::RolledBack});
    EXPECT_EQ(rescue.runner.find(1)->transaction.error()->code, Errc::Unsupported);
}

TEST_F(RunnerTest, ReadOnlyModeListsOperationsAndStartsNothing) {
    {
        Life crashed(root);
        crashed.start(make_plan({"load"}));
        crashed.launcher.end();
    }
    const auto before = root.read("/var/lib/gpuhost/journal/1.jsonl").value_or("");
    Life looking(root, "b0010000-0000-4000-8000-000000000002");
    ASSERT_TRUE(looking.runner.inspect());
    looking.turn();
    ASSERT_TRUE(looking.runner.find(1));
    EXPECT_EQ(state(*looking.runner.find(1)), "running");
    EXPECT_FALSE(looking.runner.running());
    const auto refused = looking.runner.start(make_plan({"link"}), tests::person(), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Refused);
    EXPECT_TRUE(looking.launcher.jobs.empty());
    EXPECT_EQ(root.read("/var/lib/gpuhost/journal/1.jsonl").value_or(""), before);
}

TEST_F(RunnerTest, FailureUndoesStepsInReverse) {
    Life life(root);
    life.start(make_plan({"load", "link"}));
    life.launcher.end();
    life.launcher.end();
    life.launcher.fail(Errc::NoSpace);
    EXPECT_EQ(life.at(), "undo link");
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, PreflightProblemsRefuseTheOperation) {
    Life life(root);
    const auto id = life.start(make_plan({"load"}));
    core::JobResult result;
    result.problems = {{Errc::InUse, "held", ""}, {Errc::NoSpace, "full", ""}};
    life.launcher.end(result);
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Refused});
    EXPECT_EQ(life.runner.find(id)->transaction.problems().size(), 2U);
    EXPECT_EQ(life.launcher.jobs.size(), 1U);
}

TEST_F(RunnerTest, SecondOperationIsBusyAndNamesTheFirst) {
    Life life(root);
    const auto id = life.start(make_plan({"load"}));
    const auto second = life.runner.start(make_plan({"load"}), {}, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::Busy);
    EXPECT_NE(second.error().message.find(std::to_string(id)), std::string::npos);
}

TEST_F(RunnerTest, DeadWorkersPhaseIsRetriedThenUndone) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    for (unsigned i = 1; i <= core::Transaction::max_attempts; ++i) {
        EXPECT_EQ(life.at(), "apply load") << i;
        life.launcher.die();
    }
    EXPECT_EQ(life.at(), "undo load");
    EXPECT_EQ(life.launcher.jobs.size(), 1U + core::Transaction::max_attempts + 1U);
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, TimedOutApplyIsNotRetried) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::Timeout);
    EXPECT_EQ(life.at(), "undo load");
}

TEST_F(RunnerTest, TimedOutUndoIsRetried) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::Failed);
    for (unsigned attempt = 1; attempt < core::Transaction::max_attempts; ++attempt) {
        EXPECT_EQ(life.at(), "undo load");
        life.launcher.fail(Errc::Timeout);
        EXPECT_TRUE(life.outcomes.empty());
    }
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, TimeoutAfterPointOfNoReturnIsRetried) {
    Life life(root);
    core::Plan plan = make_plan({"load", "link"});
    plan.steps[0].forward = true;
    life.start(std::move(plan));
    life.launcher.end();
    life.launcher.fail(Errc::Timeout);
    EXPECT_EQ(life.at(), "apply load");
    life.launcher.end();
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, UndoWithoutSpaceUsesTheReserve) {
    Life life(root);
    life.start(make_plan({"link"}));
    life.launcher.end();
    life.launcher.fail(Errc::Failed);
    ASSERT_TRUE(root.exists("/var/lib/gpuhost/reserve"));
    life.launcher.fail(Errc::NoSpace);
    EXPECT_EQ(life.at(), "undo link");
    EXPECT_FALSE(root.exists("/var/lib/gpuhost/reserve"));
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
    EXPECT_TRUE(root.exists("/var/lib/gpuhost/reserve"));
}

TEST_F(RunnerTest, FailedKernelUndoRequiresAReboot) {
    for (const Errc code : {Errc::InUse, Errc::Timeout}) {
        const gpuhost::tests::TempDir fresh;
        const base::Root other = fresh.root();
        Life life(other);
        life.start(make_plan({"insert"}));
        life.launcher.end();
        life.launcher.fail(Errc::Failed);
        while (life.outcomes.empty())
            life.launcher.fail(code);
        EXPECT_EQ(life.outcomes, std::vector{Outcome::RebootRequired});
        EXPECT_TRUE(life.runner.reboot_required());
    }
}

TEST_F(RunnerTest, FailedFileUndoRequiresNoReboot) {
    for (const char* step : {"link", "start"})
        for (const Errc code : {Errc::InUse, Errc::Timeout}) {
            const gpuhost::tests::TempDir fresh;
            const base::Root other = fresh.root();
            Life life(other);
            life.start(make_plan({step}));
            life.launcher.end();
            life.launcher.fail(Errc::Failed);
            while (life.outcomes.empty())
                life.launcher.fail(code);
            EXPECT_EQ(life.outcomes, std::vector{Outcome::Incomplete}) << step;
            EXPECT_FALSE(life.runner.reboot_required()) << step;
        }
}

TEST_F(RunnerTest, DriverChangeClearsRebootRequired) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::RebootRequired);
    life.launcher.end();
    ASSERT_TRUE(life.runner.reboot_required());
    core::Plan change = make_plan({"load"});
    change.driver.emplace();
    life.start(std::move(change));
    life.launcher.end();
    life.launcher.end();
    EXPECT_FALSE(life.runner.reboot_required());
}

TEST_F(RunnerTest, PhaseWithoutWorkStartsNoWorker) {
    Life life(root);
    life.start(make_plan({"link", "undo", "look", "load"}));
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply link");
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply look");
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply load");
    life.launcher.fail(Errc::Failed);
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo undo");
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo link");
}

TEST_F(RunnerTest, LaunchAfterPointOfNoReturnIsRetried) {
    Life life(root);
    core::Plan plan = make_plan({"load", "link"});
    plan.steps[0].forward = true;
    life.start(std::move(plan));
    life.launcher.end();
    life.runner.set_launch_pause(std::chrono::seconds(0));
    life.launcher.refusals = Runner::most_refused_launches - 1;
    life.launcher.end();
    life.wait([&] { return life.at() == "apply link"; });
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, FailedLaunchAfterPointOfNoReturnFails) {
    Life life(root);
    core::Plan plan = make_plan({"load", "link", "start"});
    plan.steps[0].forward = true;
    life.start(std::move(plan));
    life.launcher.end();
    life.runner.set_launch_pause(std::chrono::seconds(0));
    life.launcher.refusals = Runner::most_refused_launches;
    life.launcher.end();
    life.wait([&] { return life.at() == "apply start"; });
    EXPECT_EQ(life.runner.find(1)->transaction.states()[1], core::StepState::Failed);
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Incomplete});
}

/// Makes the journal unwritable, as on a full or read-only disk.
class NoJournal {
  public:
    NoJournal() {
        (void)::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit full{1, before_.rlim_max};
        (void)::setrlimit(RLIMIT_FSIZE, &full);
    }
    NoJournal(const NoJournal&) = delete;
    NoJournal& operator=(const NoJournal&) = delete;
    ~NoJournal() {
        (void)::setrlimit(RLIMIT_FSIZE, &before_);
        (void)std::signal(SIGXFSZ, old_);
    }

  private:
    rlimit before_{};
    void (*old_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(RunnerTest, UnwritableJournalRollsBackAndDelaysTheEnd) {
    Life life(root);
    life.runner.set_journal_pause(std::chrono::seconds(0));
    const auto id = life.start(make_plan({"load", "link"}));
    life.launcher.end();
    {
        const NoJournal none;
        life.launcher.end(); // its record cannot be written
        life.wait([&] { return life.at() == "undo load"; });
        EXPECT_FALSE(life.runner.waits()) << "the undo runs without the journal";
        life.launcher.end();
        life.turn();
        EXPECT_TRUE(life.outcomes.empty()) << "another operation could not be recorded either";
        EXPECT_TRUE(life.runner.waits());
    }
    life.wait([&] { return !life.outcomes.empty(); });
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
    Life next(root);
    ASSERT_TRUE(next.runner.resume());
    EXPECT_EQ(next.runner.find(id)->transaction.outcome(), Outcome::RolledBack) << "all records are written";
}

TEST_F(RunnerTest, UnwritableJournalPreventsRetryOfDeadStep) {
    Life life(root);
    life.runner.set_journal_pause(std::chrono::seconds(0));
    life.start(make_plan({"load"}));
    life.launcher.end();
    {
        const NoJournal none;
        life.launcher.die();
        life.wait([&] { return life.at() == "undo load"; });
    }
    life.launcher.end();
    life.wait([&] { return !life.outcomes.empty(); });
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, UnwritableJournalContinuesAfterPointOfNoReturn) {
    Life life(root);
    life.runner.set_journal_pause(std::chrono::seconds(0));
    core::Plan plan = make_plan({"load", "link"});
    plan.steps[0].forward = true;
    life.start(std::move(plan));
    life.launcher.end();
    {
        const NoJournal none;
        life.launcher.end();
        life.wait([&] { return life.at() == "apply link"; });
    }
    life.launcher.end();
    life.wait([&] { return !life.outcomes.empty(); });
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, UnrecordedUndoIsRepeated) {
    {
        Life life(root);
        life.runner.set_journal_pause(std::chrono::seconds(0));
        life.start(make_plan({"load", "link"}));
        life.launcher.end();
        const NoJournal none;
        life.launcher.end();
        life.wait([&] { return life.at() == "undo load"; });
        directory.write("run/gpuhost/jobs/" + life.launcher.last().launch.request.job + "/request.json", "");
    }
    Life next(root);
    ASSERT_TRUE(next.runner.resume());
    EXPECT_TRUE(next.launcher.last().recovered) << "the worker of the undo may still run";
    next.launcher.end();
    EXPECT_EQ(next.at(), "apply load") << "its result is still in its files";
    EXPECT_TRUE(next.launcher.last().recovered);
    next.launcher.end();
    EXPECT_EQ(next.at(), "undo load");
    EXPECT_FALSE(next.launcher.last().recovered);
    next.launcher.end();
    EXPECT_EQ(next.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, CancelKillsAnInterruptibleStep) {
    Life life(root);
    const auto id = life.start(make_plan({"read", "load"}));
    life.launcher.end(); // both preflights
    life.launcher.end();
    ASSERT_EQ(life.at(), "apply read");
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    EXPECT_TRUE(life.launcher.last().killed);
    life.launcher.die();
    EXPECT_EQ(life.at(), "undo read");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Cancelled});
}

TEST_F(RunnerTest, CancelThatCannotBeRecordedIsRefused) {
    Life life(root);
    const auto id = life.start(make_plan({"read", "load"}));
    life.launcher.end(); // both preflights
    life.launcher.end();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{1, before.rlim_max}; // as on a full disk
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    const auto refused = life.runner.cancel(id, tests::person());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)std::signal(SIGXFSZ, old);
    EXPECT_FALSE(refused);
    EXPECT_FALSE(life.launcher.last().killed);
    EXPECT_FALSE(life.runner.running()->transaction.cancelled());
    EXPECT_TRUE(life.runner.cancel(id, tests::person())) << "with free space it is accepted";
    EXPECT_TRUE(life.launcher.last().killed);
}

TEST_F(RunnerTest, CancelWaitsForAnUninterruptibleStep) {
    Life life(root);
    const auto id = life.start(make_plan({"load", "link"}));
    life.launcher.end();
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    EXPECT_FALSE(life.launcher.last().killed);
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Cancelled});
    EXPECT_EQ(life.runner.cancel(id, {}).error().code, Errc::InvalidArgument);
    EXPECT_EQ(life.runner.cancel(77, {}).error().code, Errc::NotFound);
}

TEST_F(RunnerTest, ForeignInputIsNeverReadWithPrivileges) {
    Life life(root);
    life.start(make_plan({"link", "read", "load"}));
    EXPECT_EQ(life.launcher.last().launch.sandbox, core::Sandbox::Modules);
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 2U);
    life.launcher.end();
    EXPECT_EQ(life.at(), "preflight read");
    EXPECT_EQ(life.launcher.last().launch.sandbox, core::Sandbox::Parse);
    EXPECT_EQ(life.launcher.last().launch.request.steps.size(), 1U);
    EXPECT_TRUE(life.launcher.last().launch.writable.empty());
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply link");
    EXPECT_EQ(life.launcher.last().launch.sandbox, core::Sandbox::System);
    EXPECT_EQ(life.launcher.last().launch.writable, std::vector<std::string>{"/var/link"});
}

TEST_F(RunnerTest, CheckOnlyRunsThePreflight) {
    Life life(root);
    const auto id = life.runner.start(make_plan({"load"}), {}, {}, true);
    ASSERT_TRUE(id);
    life.turn();
    EXPECT_EQ(life.at(), "preflight load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Checked});
    EXPECT_EQ(life.launcher.jobs.size(), 1U);
}

TEST_F(RunnerTest, FailedLaunchIsRetried) {
    Life life(root);
    life.launcher.refusals = 1;
    life.start(make_plan({"load"}));
    EXPECT_TRUE(life.launcher.jobs.empty());
    EXPECT_TRUE(life.runner.running());
    life.wait([&] { return !life.launcher.jobs.empty(); });
    EXPECT_EQ(life.at(), "preflight load");
}

TEST_F(RunnerTest, FailedLaunchDuringUndoIsRetried) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.refusals = 1;
    life.launcher.fail(Errc::NoSpace);
    EXPECT_TRUE(life.outcomes.empty()) << "a full /run does not leave the host half changed";
    life.wait([&] { return life.at() == "undo load"; });
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, UndoDuringShutdownWaitsForTheNextBoot) {
    {
        Life life(root);
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.fail(Errc::InUse);
        ASSERT_EQ(life.at(), "undo load");
        life.launcher.refuse();
        life.turn();
        EXPECT_TRUE(life.outcomes.empty()) << "nothing is undone yet";
    }
    Life next(root, "b0020000-0000-4000-8000-000000000002");
    ASSERT_TRUE(next.runner.resume());
    EXPECT_EQ(next.at(), "undo load");
    next.launcher.end();
    EXPECT_EQ(next.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, CancelDuringLaunchRetryRollsBack) {
    Life life(root);
    const auto id = life.start(make_plan({"load"}));
    life.launcher.refusals = 1;
    life.launcher.end();
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    life.wait([&] { return life.launcher.jobs.size() > 1; });
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Cancelled});
}

TEST_F(RunnerTest, CancelPreventsRetryOfADeadWorker) {
    Life life(root);
    const auto id = life.start(make_plan({"load"}));
    life.launcher.end();
    ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    life.launcher.die();
    EXPECT_EQ(life.at(), "undo load");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Cancelled});
}

TEST_F(RunnerTest, UnrecoverableWorkerIsAwaitedAfterCancel) {
    {
        Life life(root);
        const auto id = life.start(make_plan({"load", "link"}));
        life.launcher.end();
        ASSERT_TRUE(life.runner.cancel(id, tests::person()));
    }
    Life life(root);
    life.launcher.refusals = 1;
    ASSERT_TRUE(life.runner.resume());
    EXPECT_TRUE(life.launcher.jobs.empty());
    life.wait([&] { return !life.launcher.jobs.empty(); });
    ASSERT_EQ(life.at(), "apply load");
    EXPECT_TRUE(life.launcher.last().recovered);
    life.launcher.end();
    EXPECT_EQ(life.at(), "undo load");
}

TEST_F(RunnerTest, UnfinishedJournalOfNewerDaemonStopsTheDaemon) {
    {
        Life life(root);
        life.start(make_plan({"load"}));
    }
    directory.write("var/lib/gpuhost/journal/1.jsonl",
                    directory.read("var/lib/gpuhost/journal/1.jsonl") + "69a87fbb {\"type\":\"pause\"}\n");
    directory.write("var/lib/gpuhost/staging/1/file", "");
    Life life(root);
    EXPECT_EQ(life.runner.resume().error().code, Errc::Unsupported);
    EXPECT_TRUE(root.exists("/var/lib/gpuhost/staging/1/file"));
}

TEST_F(RunnerTest, DryRunIsListedThoughOthersAreKept) {
    Life life(root);
    for (std::size_t i = 0; i < Runner::kept; ++i) {
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.end();
    }
    bool found = false;
    life.runner.listen(
        {{}, {}, {}, [&](const Operation& old) { found = life.runner.find(old.id) != nullptr; }});
    const auto id = life.runner.start(make_plan({"load"}), {}, {}, true);
    ASSERT_TRUE(id);
    life.turn();
    life.launcher.end();
    EXPECT_NE(life.runner.find(*id), nullptr);
    EXPECT_EQ(life.runner.find(1), nullptr);
    EXPECT_TRUE(found) << "listeners of the removal can still read it";
}

TEST_F(RunnerTest, DamagedJournalIsRemovedWhenOld) {
    directory.write("var/lib/gpuhost/journal/1.jsonl", "00000000 {}\n00000000 {}\n");
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    for (std::size_t i = 0; i < Runner::kept; ++i) {
        EXPECT_TRUE(root.exists("/var/lib/gpuhost/journal/1.jsonl")) << i;
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.end();
    }
    EXPECT_FALSE(root.exists("/var/lib/gpuhost/journal/1.jsonl"));
}

TEST_F(RunnerTest, UnreadableJournalStopsTheDaemon) {
    ASSERT_TRUE(root.make_directories(
        "/var/lib/gpuhost/journal/1.jsonl")); // gives EISDIR, in place of EIO from a bad disk
    Life life(root);
    EXPECT_FALSE(life.runner.resume());
}

TEST_F(RunnerTest, LaunchRetryIsLoggedOnce) {
    static int warnings = 0;
    warnings = 0;
    base::log::set_sink([](base::log::Level level, std::string_view, std::string_view,
                           base::log::Fields) noexcept { warnings += level == base::log::Level::Warning; });
    Life life(root);
    life.launcher.refusals = 2;
    life.start(make_plan({"load"}));
    life.wait([&] { return !life.launcher.jobs.empty(); });
    base::log::set_sink(nullptr);
    EXPECT_EQ(life.at(), "preflight load");
    EXPECT_EQ(warnings, 1);
}

TEST_F(RunnerTest, TerminatedProcessesAreLogged) {
    static std::string logged;
    logged.clear();
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    base::log::set_sink(
        [](base::log::Level level, std::string_view message, std::string_view, base::log::Fields) noexcept {
            if (level == base::log::Level::Notice)
                logged += std::string(message) + "\n";
        });
    core::JobResult result;
    result.output = {{"terminated", {"process 4242 (python3) of train.service"}}};
    life.launcher.end(result);
    base::log::set_sink(nullptr);
    EXPECT_EQ(logged.substr(0, logged.find('\n')),
              "operation 1: terminated process 4242 (python3) of train.service");
}

TEST_F(RunnerTest, DryRunsAreRemovedFirst) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::RebootRequired);
    life.launcher.end();
    for (std::size_t i = 0; i < Runner::kept + 1; ++i) {
        ASSERT_TRUE(life.runner.start(make_plan({"load"}), {}, {}, true));
        life.turn();
        life.launcher.end();
    }
    EXPECT_EQ(life.removed, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(life.runner.operations().size(), Runner::kept);
    EXPECT_TRUE(life.runner.reboot_required());
    EXPECT_FALSE(root.exists("/var/lib/gpuhost/journal/2.jsonl"));
}

TEST_F(RunnerTest, OperationThatRequiresARebootIsKept) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::RebootRequired);
    life.launcher.end();
    for (std::size_t i = 0; i < Runner::kept; ++i) {
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.end();
    }
    EXPECT_EQ(life.removed, std::vector<std::uint64_t>{2});
    EXPECT_TRUE(life.runner.reboot_required());
}

TEST_F(RunnerTest, ClearedRebootRequirementStaysCleared) {
    Life life(root);
    life.start(make_plan({"load"}));
    life.launcher.end();
    life.launcher.fail(Errc::RebootRequired);
    life.launcher.end();
    core::Plan change = make_plan({"load"});
    change.driver.emplace();
    life.start(std::move(change));
    life.launcher.end();
    life.launcher.end();
    for (std::size_t i = 0; i < Runner::kept; ++i) {
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.end();
    }
    EXPECT_EQ(life.removed, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_FALSE(life.runner.reboot_required());
}

TEST_F(RunnerTest, SecondDaemonIsRefused) {
    Life first(root);
    ASSERT_TRUE(first.runner.resume());
    Life second(root);
    EXPECT_EQ(second.runner.resume().error().code, Errc::Busy);
}

TEST_F(RunnerTest, EveryPhaseHasInputsAndStagingIsRemoved) {
    Life life(root);
    std::vector<base::UniqueFd> inputs;
    inputs.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto id = life.start(make_plan({"read"}), std::move(inputs));
    EXPECT_EQ(life.launcher.last().inputs, 1U);
    const std::string staging = "/var/lib/gpuhost/staging/" + std::to_string(id);
    EXPECT_EQ(life.launcher.last().launch.request.staging, staging);
    EXPECT_TRUE(root.exists(staging));
    life.launcher.end();
    EXPECT_EQ(life.launcher.last().inputs, 1U);
    life.launcher.end();
    EXPECT_FALSE(root.exists(staging));
}

TEST_F(RunnerTest, RestartedDaemonRecoversTheWorker) {
    std::string job;
    {
        Life life(root);
        life.start(make_plan({"load", "link"}));
        life.launcher.end();
        job = life.launcher.last().launch.request.job;
    }
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    ASSERT_EQ(life.launcher.jobs.size(), 1U);
    EXPECT_TRUE(life.launcher.last().recovered);
    EXPECT_EQ(life.launcher.last().launch.request.job, job);
    life.launcher.end();
    EXPECT_FALSE(life.launcher.last().recovered);
    EXPECT_EQ(life.at(), "apply link");
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::Committed});
}

TEST_F(RunnerTest, MissingWorkerIsStartedAgain) {
    {
        Life life(root);
        life.start(make_plan({"load"}));
        life.launcher.end();
    }
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    life.launcher.die();
    EXPECT_EQ(life.at(), "apply load");
    EXPECT_FALSE(life.launcher.last().recovered);
}

TEST_F(RunnerTest, RebootRollsBack) {
    {
        Life life(root);
        life.start(make_plan({"load", "link"}));
        life.launcher.end();
        life.launcher.end();
    }
    Life life(root, "b0020000-0000-4000-8000-000000000002");
    ASSERT_TRUE(life.runner.resume());
    EXPECT_EQ(life.at(), "undo link");
    EXPECT_FALSE(life.launcher.last().recovered);
    EXPECT_EQ(life.runner.find(1)->progress, 1) << "it shrinks during undo";
    life.launcher.end();
    life.launcher.end();
    EXPECT_EQ(life.outcomes, std::vector{Outcome::RolledBack});
}

TEST_F(RunnerTest, RestartKeepsEndedOperationsAndIds) {
    {
        Life life(root);
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.end();
    }
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    ASSERT_EQ(life.runner.operations().size(), 1U);
    EXPECT_EQ(state(*life.runner.operations()[0]), "committed");
    EXPECT_EQ(life.start(make_plan({"load"})), 2U);
}

TEST_F(RunnerTest, RestartRemovesFilesOfEndedOperations) {
    {
        Life life(root);
        life.start(make_plan({"read"}));
        life.launcher.end();
        life.launcher.end();
    }
    directory.write("var/lib/gpuhost/staging/1/file", "");
    directory.write("run/gpuhost/jobs/1-1-1/events", "");
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    EXPECT_FALSE(root.exists("/var/lib/gpuhost/staging/1"));
    EXPECT_FALSE(root.exists("/run/gpuhost/jobs/1-1-1"));
}

TEST_F(RunnerTest, DamagedJournalStopsNoOperation) {
    directory.write("var/lib/gpuhost/journal/4.jsonl", "00000000 {}\n00000000 {}\n");
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    EXPECT_EQ(life.start(make_plan({"load"})), 5U);
}

TEST_F(RunnerTest, OnlyARebootClearsRebootRequired) {
    {
        Life life(root);
        life.start(make_plan({"load"}));
        life.launcher.end();
        life.launcher.fail(Errc::RebootRequired);
        life.launcher.end();
        EXPECT_EQ(life.outcomes, std::vector{Outcome::RebootRequired});
        EXPECT_TRUE(life.runner.reboot_required());
    }
    {
        Life same(root);
        ASSERT_TRUE(same.runner.resume());
        EXPECT_TRUE(same.runner.reboot_required());
    }
    Life next(root, "b0020000-0000-4000-8000-000000000002");
    ASSERT_TRUE(next.runner.resume());
    EXPECT_FALSE(next.runner.reboot_required());
}

TEST_F(RunnerTest, ProgressRisesWhenAStepBegins) {
    Life life(root);
    const auto id = life.start(make_plan({"load", "link"}));
    const auto progress = [&] { return life.runner.find(id)->progress; };
    life.launcher.end(); // the preflight
    const double load = progress();
    EXPECT_GT(load, 0);
    life.launcher.end();
    EXPECT_EQ(life.at(), "apply link");
    EXPECT_GT(progress(), load) << "although no worker reported any";
}

TEST_F(RunnerTest, ProgressShrinksOnlyDuringUndo) {
    Life life(root);
    const auto id = life.start(make_plan({"load", "link"}));
    const auto progress = [&] { return life.runner.find(id)->progress; };
    life.launcher.last().callbacks.progress({1, "checked"});
    const double checked = progress();
    EXPECT_GT(checked, 0);
    life.launcher.end();
    life.launcher.last().callbacks.progress({0.5, "half"});
    const double half = progress();
    EXPECT_GT(half, checked);
    life.launcher.last().callbacks.progress({0.1, "a second file"});
    EXPECT_EQ(progress(), half);
    life.launcher.end();
    life.launcher.fail(Errc::Failed);
    life.launcher.end();
    life.launcher.last().callbacks.progress({1, "undone"});
    EXPECT_LT(progress(), half);
}

TEST_F(RunnerTest, CheckRunsBesideAnOperation) {
    Life life(root);
    const auto id = life.start(make_plan({"load"}));
    const auto of_operation = life.launcher.jobs.front();
    core::JobResult found;
    life.runner.check(make_plan({"link"}).steps.front(),
                      [&found](const core::JobResult& result) { found = result; });
    life.turn();
    EXPECT_EQ(life.at(), "preflight link");
    EXPECT_EQ(life.launcher.last().launch.sandbox, core::Sandbox::System);
    const std::string files = core::job_directory(life.launcher.last().launch.request.job);
    directory.write(files.substr(1) + "/events", "");
    core::JobResult result;
    result.problems.push_back({Errc::InUse, "process 4242 holds the driver", ""});
    life.launcher.end(std::move(result));
    ASSERT_EQ(found.problems.size(), 1U);
    EXPECT_FALSE(root.exists(files));
    EXPECT_TRUE(of_operation->watched);
    EXPECT_EQ(life.runner.running()->id, id);
    EXPECT_EQ(core::list_journals(root).value(), std::vector{id});
}

TEST_F(RunnerTest, ChecksStartAtMostOnceASecond) {
    Life life(root);
    unsigned ended = 0;
    const auto check = [&] {
        life.runner.check(make_plan({"link"}).steps.front(), [&ended](const core::JobResult&) { ++ended; });
        life.turn();
    };
    check();
    const auto began = std::chrono::steady_clock::now();
    life.launcher.die();
    EXPECT_EQ(ended, 1U);
    check();
    life.wait([&] { return life.launcher.jobs.size() == 2; });
    EXPECT_EQ(life.launcher.jobs.size(), 2U);
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(900));
}

TEST_F(RunnerTest, CheckWithoutAWorkerFails) {
    Life life(root);
    std::vector<Errc> errors;
    const auto check = [&](const char* kind) {
        life.runner.check(make_plan({kind}).steps.front(), [&errors](const core::JobResult& result) {
            errors.push_back(result.error.value().code);
        });
        life.turn();
    };
    check("unknown");
    life.launcher.refusals = 1;
    check("link");
    EXPECT_EQ(errors, (std::vector{Errc::Unsupported, Errc::NoSpace}));
    life.runner.set_offline();
    check("link");
    life.wait([&] { return errors.size() == 3; });
    EXPECT_EQ(errors.back(), Errc::Unsupported);
}

TEST_F(RunnerTest, FilesOfAnInterruptedCheckAreRemoved) {
    directory.write("run/gpuhost/jobs/0-123456-1/events", "");
    Life life(root);
    ASSERT_TRUE(life.runner.resume());
    life.turn();
    EXPECT_FALSE(root.exists("/run/gpuhost/jobs/0-123456-1"));
}

} // namespace
} // namespace gpuhost::host
