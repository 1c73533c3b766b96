// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/manager.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/host/fake_launcher.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::host {
namespace {

using base::Errc;
using base::Json;

constexpr std::array keys{
    core::SettingKey{"Fake", "Level", core::SettingType::Unsigned, "1", "", "how much of it"}};

/// A component with a level, which settings or a request set.
struct FakeComponent : core::Component {
    struct State {
        std::uint64_t level = 1;
        bool converges = true;
        bool blind = false;
        bool converges_after = false;
        bool changes_driver = false;
        int looks = 0;
    };
    explicit FakeComponent(std::shared_ptr<State> s) : state(std::move(s)) {}

    [[nodiscard]] std::string_view name() const override { return "fake"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings&) override {
        ++state->looks;
        if (state->blind)
            return base::fail(Errc::Failed, "sysfs is gone");
        return Json{{"level", state->level}};
    }
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override {
        const Json& request = base::member(desired.request, "fake");
        const auto level = base::int_or(request, "level",
                                        static_cast<std::int64_t>(desired.settings.number("Fake", "Level")));
        core::Plan plan;
        plan.kind = "fake.level";
        plan.title = "go to level " + std::to_string(level);
        if (level > 9)
            plan.problems.push_back({Errc::Unsupported, "there are 9 levels", "Choose a lower one."});
        if (level != base::int_or(document(observed), "level", 0))
            plan.steps.push_back({"fake", plan.title, {{"level", level}}});
        if (state->changes_driver && !plan.steps.empty())
            plan.driver = core::DriverChange{"6.1.0", "", "550"};
        return plan;
    }
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return state->converges; }
    [[nodiscard]] bool converge_after(const core::Step& step,
                                      const core::Observation& observed) const override {
        return state->converges_after && step.kind == "fake" && document(observed).contains("level");
    }

    std::shared_ptr<State> state;
};

/// A component after the others. It plans a step unless they change the driver.
struct Teller : core::Component {
    [[nodiscard]] std::string_view name() const override { return "teller"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings&) override {
        return Json::object();
    }
    [[nodiscard]] core::Plan plan(const core::Desired& desired, const core::Observation&) const override {
        core::Plan plan;
        if (!desired.driver_changes)
            plan.steps.push_back({"fake", "tell", Json::object()});
        return plan;
    }
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return true; }
};

class ManagerTest : public testing::Test {
  protected:
    void SetUp() override {
        core::StepKind kind;
        kind.name = "fake";
        kind.has_preflight = kind.has_undo = true;
        kinds.add(kind);
    }
    /// Starts a daemon, after the end of the previous one.
    void begin(const std::string& boot_id = "b1", Manager::Mode mode = Manager::Mode::Live) {
        manager.reset();
        runner.emplace(event, root, launcher, kinds, boot_id);
        Manager::Components components;
        components.push_back(std::make_unique<FakeComponent>(state));
        if (told)
            components.push_back(std::make_unique<Teller>());
        manager = std::make_unique<Manager>(event, root, *runner, std::move(components), Manager::Keys{keys},
                                            "6.1.0");
        ASSERT_TRUE(manager->start(mode));
        turn();
    }
    void turn() {
        for (int i = 0; i < 20; ++i)
            (void)sd_event_run(event.get(), 0);
    }
    void finish_operation() {
        launcher.end(); // preflight
        state->level = static_cast<std::uint64_t>(
            base::int_or(launcher.last().launch.request.steps.front().args, "level", 0));
        launcher.end(); // apply
        turn();
    }
    [[nodiscard]] base::Result<std::uint64_t> ask(int level) {
        auto id = manager->apply({{"fake", {{"level", level}}}}, tests::person(), {});
        turn();
        return id;
    }

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    Event event = *Event::create();
    core::StepKinds kinds;
    tests::FakeLauncher launcher;
    std::shared_ptr<FakeComponent::State> state = std::make_shared<FakeComponent::State>();
    bool told = false; ///< a Teller follows the FakeComponent
    std::optional<Runner> runner;
    std::unique_ptr<Manager> manager;
};

TEST_F(ManagerTest, ConfiguredHostIsReadyImmediately) {
    begin();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(manager->state(), "idle");
    EXPECT_TRUE(launcher.jobs.empty());
}

TEST_F(ManagerTest, ObservesOncePerTurn) {
    state->level = 0;
    runner.emplace(event, root, launcher, kinds, "b1");
    Manager::Components components;
    components.push_back(std::make_unique<FakeComponent>(state));
    manager =
        std::make_unique<Manager>(event, root, *runner, std::move(components), Manager::Keys{keys}, "6.1.0");
    manager->on_change([this] { (void)manager->describe(); }); // as the bus does for its clients
    ASSERT_TRUE(manager->start());
    EXPECT_NE(runner->running(), nullptr);
    EXPECT_EQ(state->looks, 1);
    turn();
    EXPECT_EQ(manager->observe("fake")->at("level"), 0);
    const int looks = state->looks;
    state->level = 1;
    EXPECT_EQ(manager->observe("fake")->at("level"), 0); // the same turn
    EXPECT_EQ(state->looks, looks);
    turn();
    EXPECT_EQ(manager->observe("fake")->at("level"), 1);
    state->level = 2;
    (void)manager->reload(); // settings may change the observation
    EXPECT_EQ(manager->observe("fake")->at("level"), 2);
}

TEST_F(ManagerTest, ConvergesAtStartAndIsReadyAfterwards) {
    state->level = 0;
    begin();
    EXPECT_FALSE(manager->ready());
    EXPECT_EQ(manager->state(), "busy");
    finish_operation();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(manager->state(), "idle");
}

TEST_F(ManagerTest, LaterComponentsLearnOfTheDriverChange) {
    const auto summaries = [](const core::Plan& plan) {
        std::vector<std::string> all;
        for (const core::Step& step : plan.steps)
            all.push_back(step.summary);
        return all;
    };
    told = true;
    state->level = 0;
    begin();
    EXPECT_EQ(summaries(*manager->plan(Json::object())), (std::vector<std::string>{"go to level 1", "tell"}));
    EXPECT_EQ(runner->running()->transaction.plan().steps.size(), 2U);
    state->changes_driver = true;
    EXPECT_EQ(summaries(*manager->plan(Json::object())), std::vector<std::string>{"go to level 1"});
    begin("b2");
    launcher.end();
    turn();
    EXPECT_EQ(summaries(runner->running()->transaction.plan()), std::vector<std::string>{"go to level 1"})
        << "also at boot";
}

TEST_F(ManagerTest, FailureAtStartLeavesHostReadyAndDegraded) {
    state->level = 0;
    begin();
    launcher.end();
    launcher.fail(Errc::Failed);
    launcher.end();
    turn();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(manager->state(), "degraded");
    EXPECT_FALSE(runner->running()) << "there is one attempt";
}

TEST_F(ManagerTest, ManualComponentIsDegradedAndNotConverged) {
    state->level = 0;
    state->converges = false;
    begin();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(manager->state(), "degraded");
    EXPECT_TRUE(launcher.jobs.empty());
}

TEST_F(ManagerTest, InterruptedOperationFinishesBeforeConvergence) {
    begin();
    ASSERT_TRUE(ask(5));
    launcher.end();
    begin();
    EXPECT_FALSE(manager->ready());
    EXPECT_EQ(manager->state(), "busy");
    state->level = 5;
    launcher.end();
    turn();
    // The settings have level 1: the host converges after the unfinished operation.
    EXPECT_FALSE(manager->ready());
    finish_operation();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(state->level, 1U);
}

TEST_F(ManagerTest, InterruptedManualComponentConvergesAfterReboot) {
    state->converges = false;
    for (const bool after : {false, true}) {
        state->level = 1;
        state->converges_after = after;
        begin("b1");
        ASSERT_TRUE(ask(5));
        launcher.end();
        state->level = 5;
        begin("b2"); // rolls back, but level 5 stays
        launcher.end();
        turn();
        EXPECT_EQ(manager->state(), after ? "busy" : "degraded");
    }
    finish_operation();
    EXPECT_EQ(state->level, 1U);
    EXPECT_EQ(manager->state(), "idle");
}

TEST_F(ManagerTest, WithoutRebootAManualComponentDoesNotConverge) {
    state->converges = false;
    state->converges_after = true;
    begin("b1");
    ASSERT_TRUE(ask(5));
    launcher.end();
    begin("b1"); // only the daemon restarted
    state->level = 5;
    launcher.end();
    turn();
    EXPECT_EQ(manager->state(), "degraded");
    ASSERT_TRUE(manager->apply({{"fake", {{"level", 6}}}}, tests::person(), {}, true));
    turn();
    begin("b2"); // a dry run was started, without a step
    turn();
    EXPECT_EQ(manager->state(), "degraded");
}

TEST_F(ManagerTest, RebootRequiredPreventsConvergence) {
    state->converges = false;
    state->converges_after = true;
    begin("b1");
    ASSERT_TRUE(ask(5));
    launcher.end();
    state->level = 5;
    begin("b2");
    launcher.fail(Errc::RebootRequired);
    turn();
    EXPECT_FALSE(runner->running());
    EXPECT_EQ(manager->state(), "reboot-required");
}

TEST_F(ManagerTest, FailedOperationConvergesTheHostOnce) {
    begin();
    ASSERT_TRUE(ask(2));
    launcher.end(); // preflight
    state->level = 3;
    launcher.fail(Errc::Failed); // apply
    launcher.fail(Errc::Failed); // undo
    turn();
    ASSERT_NE(runner->running(), nullptr);
    EXPECT_EQ(runner->running()->transaction.subject().allowed_by, "daemon");
    launcher.end();
    launcher.fail(Errc::Failed);
    launcher.fail(Errc::Failed);
    turn();
    EXPECT_EQ(runner->running(), nullptr);
    EXPECT_EQ(manager->state(), "degraded");
}

TEST_F(ManagerTest, FailedOperationDoesNotChangeTheDriver) {
    begin();
    state->changes_driver = true;
    ASSERT_TRUE(ask(2));
    launcher.end();
    state->level = 3;
    launcher.fail(Errc::Failed);
    launcher.fail(Errc::Failed);
    turn();
    EXPECT_EQ(runner->running(), nullptr);
}

TEST_F(ManagerTest, MountedSystemIsNotConverged) {
    state->level = 0;
    begin("b1", Manager::Mode::Mounted);
    EXPECT_EQ(manager->state(), "degraded");
    EXPECT_FALSE(manager->ready());
    EXPECT_TRUE(launcher.jobs.empty());
    ASSERT_TRUE(ask(5)) << "but requests are executed";
    finish_operation();
    EXPECT_EQ(state->level, 5U);
    begin("b2", Manager::Mode::ReadOnly);
    const auto refused = ask(6);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Refused);
}

TEST_F(ManagerTest, PlanWithProblemsIsRefused) {
    begin();
    const auto refused = ask(12);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Unsupported);
    EXPECT_EQ(refused.error().hint, "Choose a lower one.");
    EXPECT_EQ(manager->apply({{"fake", {{"level", 12}}}}, {}, {}, true).error().code, Errc::Unsupported);
    EXPECT_EQ(ask(1).value_or(77), 0U) << "nothing to do";
    EXPECT_EQ(manager->apply({{"other", Json::object()}}, {}, {}).error().code, Errc::InvalidArgument);
}

TEST_F(ManagerTest, SingleComponentCanBePlanned) {
    begin();
    state->level = 7;
    EXPECT_EQ(manager->plan(Json::object(), "fake")->steps.size(), 1U);
    EXPECT_EQ(manager->plan(Json::object(), "other").error().code, Errc::NotFound);
    EXPECT_EQ(manager->apply(Json::object(), {}, {}, false, "other").error().code, Errc::NotFound);
    EXPECT_EQ(manager->plan(Json::object(), "fake other").error().code, Errc::NotFound);
    EXPECT_EQ(manager->plan(Json::object(), "fake fake")->steps.size(), 1U);
}

TEST_F(ManagerTest, DesiredStateIsRefusedDuringAnOperation) {
    directory.write("/var/lib/gpuhost/x", "");
    begin();
    ASSERT_TRUE(ask(2));
    EXPECT_EQ(manager->set_desired_state({"1.17.8", ""}, {}).error().code, Errc::Busy);
    EXPECT_EQ(manager->describe()["cluster"]["desired"], Json::object()) << "nothing was changed";
    finish_operation();
    EXPECT_EQ(manager->set_desired_state({"1.17.8", "550.163.01"}, {}).value_or(77), 0U)
        << "no toolkit is installed";
    EXPECT_EQ(manager->describe()["cluster"]["desired"],
              (Json{{"toolkit", "1.17.8"}, {"driver", "550.163.01"}}));
    manager->withdraw_cluster_driver();
    EXPECT_EQ(manager->describe()["cluster"]["desired"], (Json{{"toolkit", "1.17.8"}}));
}

TEST_F(ManagerTest, ComponentThatCannotObserveDegradesTheHost) {
    state->blind = true;
    begin();
    EXPECT_TRUE(manager->ready());
    EXPECT_EQ(manager->state(), "degraded");
    EXPECT_TRUE(manager->describe()["components"]["fake"].contains("error"));
    const auto all = manager->plan(Json::object());
    ASSERT_TRUE(all);
    ASSERT_EQ(all->problems.size(), 1U);
    EXPECT_NE(all->problems[0].text.find("fake"), std::string::npos);
    EXPECT_EQ(manager->apply(Json::object(), {}, {}).error().code, Errc::Failed);
    EXPECT_EQ(manager->plan({{"fake", {{"level", 2}}}}).error().code, Errc::Failed);
}

TEST_F(ManagerTest, InvalidSettingKeepsTheCurrentValue) {
    directory.write("etc/gpuhost/gpuhostd.conf", "[Fake]\nLevel=3\n");
    state->level = 3;
    begin();
    EXPECT_EQ(manager->state(), "idle");
    directory.write("etc/gpuhost/gpuhostd.conf", "[Fake]\nLevel=many\n");
    EXPECT_EQ(manager->reload().size(), 1U);
    EXPECT_EQ(manager->state(), "idle") << "level 3 is still configured";
    directory.write("etc/gpuhost/gpuhostd.conf", "[Fake]\nLevel=4\n");
    EXPECT_TRUE(manager->reload().empty());
    EXPECT_EQ(manager->state(), "degraded") << "level 4 is configured now";
}

TEST_F(ManagerTest, RebootRequiredEndsWithTheReboot) {
    begin();
    ASSERT_TRUE(ask(2));
    launcher.end();
    launcher.fail(Errc::RebootRequired);
    launcher.end();
    turn();
    EXPECT_EQ(manager->state(), "reboot-required");
    begin("b2");
    EXPECT_EQ(manager->state(), "idle");
}

} // namespace
} // namespace gpuhost::host
