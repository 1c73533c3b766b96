// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/component.hpp"
#include "daemon/devices/mig/keep_steps.hpp"
#include "daemon/devices/mig/kept.hpp"
#include "daemon/devices/publish/devices_settings.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

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
    core::Settings settings_{{devices_setting_keys()}};
    KeptMig kept_{
        {{"GPU-1", "0000:06:00.0", true, {{7, 0, {0, 1}, {{0, 0, 0, {0, 1}, "MIG-2"}}}}, ""}}, {}, {}};
};

TEST_F(MigComponentTest, KeptInstancesNeedNothing) {
    EXPECT_EQ(kinds(plan()), Texts{});
    EXPECT_EQ(kinds(plan(true)), Texts{});
    EXPECT_FALSE(plan().undecided);
}

TEST_F(MigComponentTest, BootCreatesKeptInstances) {
    ASSERT_TRUE(root_.remove(tried_path));
    EXPECT_EQ(kinds(plan()), (Texts{"mig.recreate", "driver.devices"}));
    EXPECT_EQ(kinds(plan(true)), (Texts{"mig.recreate", "driver.devices"}));
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

/// No library of NVIDIA is here, so NVML does not answer.
class MigStepsTest : public MigComponentTest {
  protected:
    base::Result<Json> run(const core::Step& step) {
        const Json none = Json::object();
        core::StepContext context{root_, none, "boot", "/staging", {}, [](double, std::string_view) {}};
        context.warn = [&](const std::string& text) { warnings_.push_back(text); };
        core::StepCodes codes;
        codes.add(keep_step_code());
        return codes.find(step.kind)->apply(context, step.args);
    }

    Texts warnings_;
};

TEST_F(MigStepsTest, FailedRecreationKeepsInstancesAndSucceeds) {
    ASSERT_TRUE(root_.remove(tried_path));
    ASSERT_TRUE(run(mig_recreate_step()));
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_FALSE(is_recreation_due(root_));
    const auto kept = read_kept(root_).value();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->gpus, kept_.gpus);
    EXPECT_EQ(kept->problems.size(), 1U);
    EXPECT_TRUE(plan().undecided);
}

TEST_F(MigStepsTest, RecreationWaitsForTheDriver) {
    ASSERT_TRUE(root_.remove(tried_path));
    ASSERT_TRUE(root_.remove_tree("/sys/module/nvidia"));
    ASSERT_TRUE(run(mig_recreate_step()));
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
