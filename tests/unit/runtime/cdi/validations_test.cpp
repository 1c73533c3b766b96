// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/inputs.hpp"
#include "daemon/runtime/cdi/validations.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Change = ValidationChange;
using File = ValidationState::File;

TEST(ValidationChange, FilesOfOthersAreNotChanged) {
    EXPECT_EQ(validation_change(true, {File::Absent, false}), Change::Write);
    EXPECT_EQ(validation_change(true, {File::Absent, true}), Change::Write);
    EXPECT_EQ(validation_change(true, {File::Same, false}), Change::None);
    EXPECT_EQ(validation_change(true, {File::Other, true}), Change::None);
    EXPECT_EQ(validation_change(false, {File::Same, true}), Change::Remove);
    EXPECT_EQ(validation_change(false, {File::Same, false}), Change::None);
    EXPECT_EQ(validation_change(false, {File::Other, true}), Change::None);
    EXPECT_EQ(validation_change(false, {File::Absent, true}), Change::None);
}

class ValidationsTest : public testing::Test {
  protected:
    static constexpr const char* driver_ready = "/run/nvidia/validations/driver-ready";
    static constexpr const char* toolkit_ready = "/run/nvidia/validations/toolkit-ready";

    void load() const {
        host_.write("/sys/module/nvidia/version", "550.163.01\n");
        host_.write("/proc/driver/nvidia/gpus/0000:06:00.0/information", "Device Minor: \t 0\n");
        make_nodes();
    }
    void make_nodes() const {
        for (const auto& [path, minor] : {std::pair{"/dev/nvidiactl", 255U}, {"/dev/nvidia0", 0U}})
            if (!root_.exists(path)) {
                ASSERT_TRUE(root_.make_node(path, S_IFCHR | 0666, makedev(195, minor)));
            }
    }
    /// tests/host/validations_test.py tests the same without privileges.
    void SetUp() override {
        ASSERT_TRUE(root_.make_directories("/dev"));
        if (!root_.make_node("/dev/probe", S_IFCHR | 0666, makedev(195, 1)))
            GTEST_SKIP() << "device nodes can't be made here";
    }
    void tell(const std::string& problem = {}) const {
        CdiRecord record;
        record.inputs = cdi_inputs(root_);
        record.devices = {"nvidia.com/gpu=0"};
        record.directory = "/run/cdi";
        record.problem = problem;
        ASSERT_TRUE(write_cdi_record(root_, record));
    }
    void configure(const std::string& outcome) const {
        RuntimeRecord record;
        record.settings = Json::object();
        record.runtimes["containerd"].outcome = outcome;
        ASSERT_TRUE(write_runtime_record(root_, record));
    }
    [[nodiscard]] std::pair<bool, bool> facts() const {
        const ValidationFacts facts = validation_facts(root_, validation_settings(settings_));
        return {facts.driver, facts.containers};
    }
    void converge() {
        core::StepContext context{
            root_, settings_, "boot", "", {}, {}, [this](const std::string& text) { warned_ += text; }};
        converge_validations(context);
    }
    void withdraw() {
        core::StepContext context{root_, settings_, "boot", "", {}, {}};
        ASSERT_TRUE(withdraw_validations(context));
    }
    [[nodiscard]] std::string read(const char* path) const { return root_.read(path).value_or("-"); }

    tests::TempDir host_;
    base::Root root_ = host_.root();
    Json settings_ = {{"Runtime", {{"Manage", "yes"}}}};
    std::string warned_;
};

using Pair = std::pair<bool, bool>;

TEST_F(ValidationsTest, DriverIsReadyWithAllDeviceNodes) {
    EXPECT_EQ(facts(), Pair(false, false));
    load();
    EXPECT_EQ(facts(), Pair(true, false)) << "no specification is published yet";
    ASSERT_TRUE(root_.remove("/dev/nvidia0"));
    EXPECT_EQ(facts(), Pair(false, false));
    load();
    settings_["Cluster"]["StatusFiles"] = "no";
    EXPECT_EQ(facts(), Pair(false, false));
}

TEST_F(ValidationsTest, ToolkitIsReadyOnceContainersGetGpus) {
    load();
    tell();
    EXPECT_EQ(facts(), Pair(true, true)) << "no runtime needs configuration";
    host_.write("/usr/bin/containerd", "");
    host_.write("/etc/containerd/config.toml", "");
    EXPECT_EQ(facts(), Pair(true, false)) << "the runtime was not configured yet";
    for (const auto& [outcome, ready] : {std::pair{"configured", true},
                                         {"nothing", true},
                                         {"refused", false},
                                         {"restored", false},
                                         {"by-hand", false}}) {
        configure(outcome);
        EXPECT_EQ(facts(), Pair(true, ready)) << outcome;
    }
    settings_["Runtime"]["Manage"] = "no";
    EXPECT_EQ(facts(), Pair(true, true)) << "gpuhostd does not configure runtimes";
    tell("the driver serves no GPU");
    EXPECT_EQ(facts(), Pair(true, false));
    settings_["CDI"]["Manage"] = "no";
    EXPECT_EQ(facts(), Pair(true, true)) << "gpuhostd does not publish specifications";
}

TEST_F(ValidationsTest, RuntimeOutsideKnownPathsMustBeConfigured) {
    load();
    tell();
    host_.write("/usr/lib/systemd/system/containerd.service",
                "[Service]\nExecStart=/opt/cri/bin/containerd --config /opt/cri/config.toml\n");
    EXPECT_EQ(facts(), Pair(true, false)) << "the runtime was not configured yet";
}

TEST_F(ValidationsTest, RestartThatGpusDoNotNeedIsIgnored) {
    load();
    tell();
    configure("configured");
    host_.write("/proc/7/stat", "7 (containerd) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 0 0\n");
    RuntimeRecord record = *read_runtime_record(root_);
    record.runtimes["containerd"].awaits = stamp_process(root_, 7);
    ASSERT_TRUE(write_runtime_record(root_, record));
    EXPECT_EQ(facts(), Pair(true, false)) << "the running process provides no GPUs";
    record.runtimes["containerd"].gives_meanwhile = true;
    ASSERT_TRUE(write_runtime_record(root_, record));
    EXPECT_EQ(facts(), Pair(true, true));
}

TEST_F(ValidationsTest, RuntimeWithoutCriCountsOnlyIfAlone) {
    load();
    tell();
    configure("configured");
    RuntimeRecord record = *read_runtime_record(root_);
    record.runtimes["docker"].outcome = "by-hand";
    record.runtimes["docker"].serves_cri = false;
    ASSERT_TRUE(write_runtime_record(root_, record));
    EXPECT_EQ(facts(), Pair(true, true)) << "pods run in containerd";
    record.runtimes.erase("containerd");
    ASSERT_TRUE(write_runtime_record(root_, record));
    EXPECT_EQ(facts(), Pair(true, false));
}

TEST_F(ValidationsTest, RuntimeWithOlderCdiIsNotReady) {
    load();
    tell();
    configure("nothing");
    RuntimeRecord record = *read_runtime_record(root_);
    record.runtimes["containerd"].newest_cdi = "0.5.0";
    ASSERT_TRUE(write_runtime_record(root_, record));
    CdiRecord told = *read_cdi_record(root_);
    told.version = "0.7.0";
    ASSERT_TRUE(write_cdi_record(root_, told));
    EXPECT_EQ(facts(), Pair(true, false));
    told.version = "0.5.0";
    ASSERT_TRUE(write_cdi_record(root_, told));
    EXPECT_EQ(facts(), Pair(true, true));
}

TEST_F(ValidationsTest, FilesEqualThoseOfTheGpuOperator) {
    load();
    tell();
    converge();
    EXPECT_EQ(read(driver_ready),
              "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\n"
              "DEV_ROOT_CTR_PATH=/host\n");
    EXPECT_EQ(read(toolkit_ready), "");
    EXPECT_TRUE(validation_reasons(observe_validations(root_, validation_settings(settings_))).empty());
    ASSERT_TRUE(root_.remove(toolkit_ready));
    EXPECT_EQ(validation_reasons(observe_validations(root_, validation_settings(settings_))).size(), 1U);
    tell("no CDI");
    converge();
    EXPECT_EQ(read(toolkit_ready), "-");
    ASSERT_TRUE(root_.remove("/sys/module/nvidia/version"));
    converge();
    EXPECT_EQ(read(driver_ready), "-");
    EXPECT_EQ(read("/run/gpuhost/validations"), "-") << "none of the own files is left";
    EXPECT_EQ(warned_, "");
}

TEST_F(ValidationsTest, ValidatorsFileIsRemovedOnlyWithTheDriver) {
    load();
    tell();
    host_.write(toolkit_ready, "");
    converge();
    tell("no CDI");
    converge();
    EXPECT_EQ(read(toolkit_ready), "") << "the file belongs to the validator";
    withdraw();
    EXPECT_EQ(read(driver_ready), "-");
    EXPECT_EQ(read(toolkit_ready), "-");
}

TEST_F(ValidationsTest, FileOfAContainerizedDriverIsKept) {
    load();
    const std::string theirs = "IS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\n";
    host_.write(driver_ready, theirs);
    converge();
    withdraw();
    EXPECT_EQ(read(driver_ready), theirs);
    EXPECT_EQ(observe_validations(root_, validation_settings(settings_))["driver-ready"]["file"], "other");
}

TEST_F(ValidationsTest, DisablingRemovesOnlyOwnFiles) {
    load();
    tell();
    host_.write(toolkit_ready, "");
    converge();
    settings_["Cluster"]["StatusFiles"] = "no";
    EXPECT_EQ(validation_reasons(observe_validations(root_, validation_settings(settings_))).size(), 1U);
    converge();
    withdraw();
    EXPECT_EQ(read(driver_ready), "-");
    EXPECT_EQ(read(toolkit_ready), "");
}

TEST_F(ValidationsTest, BlockedPathIsAWarning) {
    load();
    host_.write("/run/nvidia", "a file");
    converge();
    EXPECT_NE(warned_.find("/run/nvidia"), std::string::npos) << warned_;
}

} // namespace
} // namespace gpuhost::runtime
