// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/component.hpp"
#include "daemon/devices/mig/keep_steps.hpp"
#include "daemon/devices/mig/kept.hpp"
#include "daemon/devices/publish/devices_settings.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gpuhost::devices {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

constexpr std::array version_keys{
    core::SettingKey{"Driver", "Version", core::SettingType::String, "", "", "driver version"}};

/// A host with a loaded driver, whose GPU has one MIG instance, which is kept.
class MigComponentTest : public testing::Test {
  protected:
    MigComponentTest() {
        host_.write("/sys/module/nvidia/version", "550.163.01\n");
        add("gi7/ci0");
        kept_.instances = listed_instances(root_);
        keep();
        host_.write(tried_path, "");
    }

    void add(const std::string& instance) const {
        host_.write("/proc/driver/nvidia/capabilities/gpu0/mig/" + instance + "/access", "");
    }
    void keep() const { ASSERT_TRUE(write_kept(root_, kept_)); }
    [[nodiscard]] core::Plan plan(bool named = false, bool driver_changes = false) const {
        MigComponent component(root_, {{"driver.devices", "", Json::object()}});
        const auto observed = component.observe(settings_);
        EXPECT_TRUE(observed);
        return component.plan({settings_, Json::object(), named, driver_changes, named}, *observed);
    }
    static Texts kinds(const core::Plan& plan) {
        Texts kinds;
        for (const core::Step& step : plan.steps)
            kinds.push_back(step.kind + base::string_or(step.args, "mode", ""));
        return kinds;
    }

    tests::TempDir host_;
    base::Root root_ = host_.root();
    core::Settings settings_{{devices_setting_keys(), version_keys}};
    KeptMig kept_{
        {{"GPU-1", "0000:06:00.0", true, {{7, 0, {0, 1}, {{0, 0, 0, {0, 1}, "MIG-2"}}}}, ""}}, {}, {}};
};

TEST_F(MigComponentTest, KeptInstancesNeedNothing) {
    EXPECT_EQ(kinds(plan()), Texts{});
    EXPECT_EQ(kinds(plan(true)), Texts{"mig.recordreplace"}) << "other profiles may have the same names";
    EXPECT_FALSE(plan().undecided);
}

TEST_F(MigComponentTest, BootCreatesKeptInstances) {
    ASSERT_TRUE(root_.remove(tried_path));
    EXPECT_EQ(kinds(plan()), (Texts{"driver.devices", "mig.recreate", "driver.devices"}));
    EXPECT_TRUE(plan().creates_devices);
    EXPECT_EQ(kinds(plan(true)), (Texts{"driver.devices", "mig.recreate", "driver.devices"}));
    EXPECT_EQ(kinds(plan(false, true)), Texts{}) << "the driver's plan has the steps";
    ASSERT_TRUE(root_.remove("/sys/module/nvidia/version"));
    EXPECT_EQ(kinds(plan()), Texts{});
}

TEST_F(MigComponentTest, ChangedInstancesAreRecorded) {
    add("gi8/ci0");
    EXPECT_EQ(kinds(plan()), Texts{"mig.recordadd"});
    EXPECT_EQ(kinds(plan(true)), Texts{"mig.recordreplace"});
    ASSERT_TRUE(root_.remove("/sys/module/nvidia/version"));
    EXPECT_EQ(kinds(plan()), Texts{}) << "the driver is not loaded";
}

TEST_F(MigComponentTest, MissingInstancesWaitForADecision) {
    kept_.problems = {"GPU 0000:06:00.0 is missing"};
    keep();
    EXPECT_EQ(kinds(plan()), Texts{});
    ASSERT_TRUE(plan().undecided);
    EXPECT_EQ(plan().undecided->text, kept_.problems[0]);
    EXPECT_NE(plan().undecided->hint.find("gpuhostctl apply --only mig"), std::string::npos);
    EXPECT_EQ(kinds(plan(true)), Texts{"mig.recordreplace"});
    EXPECT_FALSE(plan(true).undecided);
}

TEST_F(MigComponentTest, DamagedFileWaitsForADecision) {
    host_.write(kept_path, "{");
    EXPECT_EQ(kinds(plan()), Texts{});
    ASSERT_TRUE(plan().undecided);
    EXPECT_EQ(kinds(plan(true)), Texts{"mig.recordreplace"});
}

TEST_F(MigComponentTest, KeepMigNoForgets) {
    ASSERT_TRUE(settings_.set("Devices", "KeepMig", "no", "test"));
    EXPECT_EQ(kinds(plan()), Texts{"mig.recordremove"});
    ASSERT_TRUE(root_.remove(kept_path));
    EXPECT_EQ(kinds(plan()), Texts{});
}

TEST_F(MigComponentTest, VersionOffDoesNothing) {
    add("gi8/ci0");
    ASSERT_TRUE(settings_.set("Driver", "Version", "preinstalled", "test"));
    EXPECT_EQ(kinds(plan()), Texts{"mig.recordadd"});
    ASSERT_TRUE(settings_.set("Driver", "Version", "off", "test"));
    EXPECT_EQ(kinds(plan()), Texts{});
    ASSERT_TRUE(root_.remove(tried_path));
    EXPECT_EQ(kinds(plan()), Texts{});
}

/// No library of NVIDIA is here, so NVML does not answer.
class MigStepsTest : public MigComponentTest {
  protected:
    base::Result<Json> run(const core::Step& step) { return code(step).apply(context_, step.args); }
    base::Result<void> undo(const core::Step& step) { return code(step).undo(context_, step.args); }
    static core::StepCode code(const core::Step& step) {
        core::StepCodes codes;
        codes.add(keep_step_code());
        return *codes.find(step.kind);
    }

    Texts warnings_;
    const Json none_ = Json::object();
    core::StepContext context_{root_,
                               none_,
                               "boot",
                               "/staging",
                               {},
                               [](double, std::string_view) {},
                               [this](const std::string& text) { warnings_.push_back(text); }};
};

TEST_F(MigStepsTest, FailedRecreationKeepsInstancesAndSucceeds) {
    ASSERT_TRUE(root_.remove(tried_path));
    ASSERT_TRUE(run(mig_recreate_step(true)));
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_FALSE(is_recreation_due(root_));
    const auto kept = read_kept(root_).value();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->gpus, kept_.gpus);
    EXPECT_EQ(kept->problems.size(), 1U);
    EXPECT_TRUE(plan().undecided);
}

TEST_F(MigStepsTest, RecreationSucceedsWithAnUnwritableFile) {
    ASSERT_TRUE(root_.remove(tried_path));
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit none{0, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0); // files can only be empty
    const auto done = run(mig_recreate_step(true));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)std::signal(SIGXFSZ, before);
    EXPECT_TRUE(done);
    ASSERT_EQ(warnings_.size(), 2U);
    EXPECT_NE(warnings_[1].find("not kept for the next restart"), std::string::npos);
    EXPECT_FALSE(is_recreation_due(root_));
    ASSERT_TRUE(root_.remove_tree("/run/gpuhost"));
    host_.write("/run/gpuhost", "a file in place of the directory");
    EXPECT_TRUE(run(mig_recreate_step(true)));
}

TEST_F(MigStepsTest, UndoOfALoadRepeatsTheRecreation) {
    ASSERT_TRUE(undo(mig_recreate_step(false)));
    EXPECT_FALSE(is_recreation_due(root_)) << "the driver stays loaded";
    ASSERT_TRUE(undo(mig_recreate_step(true)));
    EXPECT_TRUE(is_recreation_due(root_));
}

TEST_F(MigStepsTest, RecreationWaitsForTheDriver) {
    ASSERT_TRUE(root_.remove(tried_path));
    ASSERT_TRUE(root_.remove_tree("/sys/module/nvidia"));
    ASSERT_TRUE(run(mig_recreate_step(true)));
    EXPECT_TRUE(is_recreation_due(root_));
}

TEST_F(MigStepsTest, SilentNvmlOverwritesNothing) {
    add("gi8/ci0");
    ASSERT_TRUE(run(mig_record_step("", "add")));
    EXPECT_EQ(read_kept(root_).value()->gpus, kept_.gpus);
    EXPECT_EQ(kinds(plan()), Texts{}) << "the step is not repeated";
    EXPECT_TRUE(plan().undecided);
    EXPECT_FALSE(run(mig_record_step("", "replace")));
    EXPECT_EQ(read_kept(root_).value()->gpus, kept_.gpus);
    ASSERT_TRUE(run(mig_record_step("", "remove")));
    EXPECT_FALSE(root_.exists(kept_path));
}

TEST_F(MigStepsTest, SilentNvmlIsAskedOnceWithoutAFile) {
    ASSERT_TRUE(root_.remove(kept_path));
    EXPECT_EQ(kinds(plan()), Texts{"mig.recordadd"});
    ASSERT_TRUE(run(mig_record_step("", "add")));
    EXPECT_EQ(kinds(plan()), Texts{}) << "the step is not repeated";
    ASSERT_TRUE(plan().undecided);
    EXPECT_NE(plan().undecided->text.find("NVML can't describe"), std::string::npos);
    ASSERT_TRUE(root_.remove(tried_path));
    EXPECT_FALSE(is_recreation_due(root_)) << "no GPU is kept";
}

TEST_F(MigStepsTest, SilentNvmlIsNoProblemWithoutInstances) {
    ASSERT_TRUE(root_.remove(kept_path));
    ASSERT_TRUE(run(mig_record_step("", "add")));
    ASSERT_TRUE(root_.remove_tree("/proc/driver/nvidia/capabilities"));
    EXPECT_EQ(kinds(plan()), Texts{"mig.recordadd"});
    ASSERT_TRUE(run(mig_record_step("", "add")));
    EXPECT_FALSE(root_.exists(kept_path));
}

} // namespace
} // namespace gpuhost::devices
