// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/component.hpp"
#include "daemon/runtime/cdi/inputs.hpp"
#include "daemon/runtime/cdi/steps.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

class CdiComponentTest : public testing::Test {
  protected:
    void load(const std::string& version) const {
        host_.write("/sys/module/nvidia/version", version + "\n");
        host_.write("/proc/driver/nvidia/gpus/0000:06:00.0/information", "Device Minor: 0\n");
    }
    void set(const std::string& key, const std::string& value) {
        ASSERT_TRUE(settings_.set("CDI", key, value, "test"));
    }
    /// Writes the files and the record that the step writes.
    void publish(const std::string& problem = "") const {
        host_.write("/run/cdi/nvidia.yaml", "{}");
        CdiRecord record;
        record.inputs = cdi_inputs(root_);
        record.devices = {"nvidia.com/gpu=0"};
        record.directory = "/run/cdi";
        record.groups_setting = "auto";
        record.programs = {{"/usr/bin/podman", ""}};
        record.problem = problem;
        record.files["/run/cdi/nvidia.yaml"] = identify(root_, "/run/cdi/nvidia.yaml");
        ASSERT_TRUE(write_cdi_record(root_, record));
    }
    [[nodiscard]] core::Plan plan(const Json& request = Json::object()) const {
        CdiComponent component(root_, {{"nodes", "", {}}});
        const auto observed = component.observe(settings_);
        EXPECT_TRUE(observed);
        return component.plan({settings_, request, false, loads_, false, creates_}, *observed);
    }
    /// Returns the kinds of the plan's steps.
    [[nodiscard]] Texts steps() const {
        Texts kinds;
        for (const core::Step& step : plan().steps)
            kinds.push_back(step.kind);
        return kinds;
    }

    tests::TempDir host_;
    base::Root root_ = host_.root();
    core::Settings settings_{{cdi_setting_keys()}};
    bool loads_ = false;   ///< the same plan changes the driver
    bool creates_ = false; ///< the same plan creates MIG instances
};

TEST_F(CdiComponentTest, WithoutDriverNothingIsPublished) {
    EXPECT_EQ(steps(), Texts());
    publish();
    EXPECT_EQ(steps(), Texts{"cdi.publish"});
    EXPECT_EQ(plan().reasons, Texts{"no driver is loaded"});
    EXPECT_EQ(plan().title, "remove the CDI specifications");
}

TEST_F(CdiComponentTest, PublishedSpecificationsNeedNoSteps) {
    load("550.163.01");
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    publish();
    EXPECT_EQ(steps(), Texts());
    EXPECT_EQ(plan().title, "write the CDI specifications for driver 550.163.01");
    EXPECT_TRUE(plan({{"driver", {{"request", "swap"}}}}).steps.empty()) << "the component has no requests";
}

TEST_F(CdiComponentTest, NewInstancesAreDescribedToo) {
    creates_ = true;
    EXPECT_EQ(steps(), Texts());
    load("550.163.01");
    publish();
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    EXPECT_EQ(plan().reasons, Texts{"MIG instances are created"});
}

TEST_F(CdiComponentTest, AnotherDriverIsTheOnlyReason) {
    load("535.261.03");
    publish();
    load("550.163.01");
    host_.write("/run/nvidia-persistenced/socket", "");
    EXPECT_EQ(plan().reasons,
              Texts{"the CDI specifications are for driver 535.261.03, but 550.163.01 is loaded"});
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
}

TEST_F(CdiComponentTest, DriverPlanPublishesItsOwnDriver) {
    publish();
    EXPECT_EQ(steps(), Texts{"cdi.publish"}) << "the record survived the boot, and no driver is loaded yet";
    loads_ = true;
    EXPECT_EQ(steps(), Texts());
    set("Manage", "no");
    EXPECT_EQ(steps(), Texts()) << "the same step updates NVIDIA's operands and removes the files";
    ASSERT_TRUE(settings_.set("Cluster", "StatusFiles", "no", "test"));
    EXPECT_EQ(steps(), Texts{"cdi.publish"}) << "that change notifies no operand";
}

TEST_F(CdiComponentTest, ChangesWithTheSameDriverAreNamed) {
    load("550.163.01");
    publish();
    host_.write("/run/nvidia-fabricmanager/socket", "");
    host_.write("/proc/driver/nvidia/gpus/0000:07:00.0/information", "Device Minor: 1\n");
    EXPECT_EQ(plan().reasons,
              (Texts{"the GPUs have changed", "the sockets of the driver's daemons have changed"}));
}

TEST_F(CdiComponentTest, FailedPublishIsNotRetriedUntilAChange) {
    load("550.163.01");
    publish("the driver serves no GPU");
    EXPECT_EQ(steps(), Texts());
}

TEST_F(CdiComponentTest, ForeignChangeIsRepairedUnlessRepairIsNo) {
    load("550.163.01");
    publish();
    host_.write("/run/cdi/nvidia.yaml", "theirs");
    EXPECT_EQ(plan().reasons, Texts{"another program has changed '/run/cdi/nvidia.yaml'"});
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    set("Repair", "no");
    EXPECT_EQ(steps(), Texts());
}

TEST_F(CdiComponentTest, MissingFileIsWrittenEvenWithoutRepair) {
    load("550.163.01");
    publish();
    set("Repair", "no");
    ASSERT_TRUE(root_.remove("/run/cdi/nvidia.yaml"));
    EXPECT_EQ(plan().reasons, Texts{"'/run/cdi/nvidia.yaml' is missing"});
}

TEST_F(CdiComponentTest, MigInstancesAndHostLibrariesAreReasons) {
    load("550.163.01");
    publish();
    host_.write("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
    host_.write("/etc/ld.so.cache", "");
    EXPECT_EQ(plan().reasons, (Texts{"the host's libraries have changed", "the MIG instances have changed"}));
}

TEST_F(CdiComponentTest, NewRuntimeMayNeedAnOlderSpecification) {
    load("550.163.01");
    publish();
    EXPECT_EQ(plan().reasons, Texts());
    host_.write("/usr/bin/podman", "");
    EXPECT_EQ(
        plan().reasons,
        Texts{"'/usr/bin/podman' has changed, and its version decides which specifications runtimes read"});
    set("Groups", "yes");
    EXPECT_EQ(plan().reasons, Texts{"the settings in section [CDI] have changed"});
}

TEST_F(CdiComponentTest, NewGpuhostdVersionPublishesAgain) {
    load("550.163.01");
    publish();
    auto record = *read_cdi_record(root_);
    record.inputs["gpuhost"] = "0.0.1";
    ASSERT_TRUE(write_cdi_record(root_, record));
    EXPECT_EQ(plan().reasons, Texts{"another version of gpuhostd wrote the specifications"});
}

TEST_F(CdiComponentTest, ChangedSettingsPublishAgain) {
    load("550.163.01");
    publish();
    set("Groups", "no");
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    set("Groups", "auto");
    set("Directory", "/etc/cdi");
    EXPECT_EQ(plan().steps.back().args["directory"], "/etc/cdi");
    set("Manage", "no");
    EXPECT_EQ(steps(), Texts{"cdi.publish"});
    EXPECT_EQ(plan().steps.back().args["enable"], false);
    EXPECT_EQ(cdi_steps_around(settings_).before.front().args["enable"], false)
        << "the files are removed and not written again";
    EXPECT_FALSE(cdi_steps_around(settings_).after.empty()) << "NVIDIA's operands are still notified";
    ASSERT_TRUE(settings_.set("Cluster", "StatusFiles", "no", "test"));
    EXPECT_TRUE(cdi_steps_around(settings_).after.empty());
}

TEST_F(CdiComponentTest, ValidationFilesArePublishedToo) {
    load("550.163.01");
    publish();
    ASSERT_TRUE(root_.make_directories("/dev"));
    if (!root_.make_node("/dev/nvidiactl", S_IFCHR | 0666, makedev(195, 255)))
        GTEST_SKIP() << "device nodes can't be made here";
    ASSERT_TRUE(root_.make_node("/dev/nvidia0", S_IFCHR | 0666, makedev(195, 0)));
    publish();
    EXPECT_EQ(plan().title, "update the validation files for NVIDIA's operands, driver 550.163.01");
    EXPECT_EQ(plan().reasons.size(), 2U);
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    ASSERT_TRUE(settings_.set("Cluster", "StatusFiles", "no", "test"));
    EXPECT_EQ(steps(), Texts());
}

TEST_F(CdiComponentTest, OpenedGpusStayOpenForLaterSteps) {
    load("550.163.01");
    ASSERT_TRUE(root_.make_directories("/dev"));
    if (!root_.make_node("/dev/nvidia0", S_IFCHR | 0666,
                         makedev(1, 3))) // can be opened, like a GPU that starts
        GTEST_SKIP() << "device nodes can't be made here";
    const Json settings = Json::object();
    core::StepContext context{root_, settings, "boot", "/var/lib/gpuhost/staging/1", {}, {}};
    std::vector<base::UniqueFd> kept;
    context.keep = [&kept](base::UniqueFd fd) { kept.push_back(std::move(fd)); };
    const core::StepCode publish = cdi_step_code().front();
    ASSERT_TRUE(publish.apply(context, {{"enable", true}, {"directory", "/run/cdi"}}));
    EXPECT_EQ(kept.size(), 1U);
    host_.write("/proc/driver/nvidia/gpus/0000:06:00.0/information",
                "GPU UUID: GPU-aaaaaaaa-0000-4000-8000-000000000000\nDevice Minor: 0\n");
    ASSERT_TRUE(publish.apply(context, {{"enable", true}, {"directory", "/run/cdi"}}));
    EXPECT_EQ(kept.size(), 1U) << "a GPU with a known UUID is not opened";
}

TEST_F(CdiComponentTest, UnreadableRecordPublishesAgain) {
    load("550.163.01");
    publish();
    host_.write("/var/lib/gpuhost/cdi.json", "[");
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
    host_.write("/var/lib/gpuhost/cdi.json", "[]");
    EXPECT_EQ(steps(), (Texts{"nodes", "cdi.publish"}));
}

} // namespace
} // namespace gpuhost::runtime
