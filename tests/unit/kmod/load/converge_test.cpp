// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/devices.hpp"
#include "kmod/load/converge.hpp"
#include "kmod/load/module_lock.hpp"
#include "kmod/module/kernel_state.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <cerrno>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;

const std::string all_535 =
    "nvidia_drm 535.261.03, nvidia_modeset 535.261.03, nvidia_uvm 535.261.03, nvidia 535.261.03";
const std::string all_550 =
    "nvidia_drm 550.163.01, nvidia_modeset 550.163.01, nvidia_uvm 550.163.01, nvidia 550.163.01";

/// A loader that is always slightly slower than udev.
class BeatenLoader : public ModuleLoader {
  public:
    explicit BeatenLoader(const base::Root& root) : real_(make_module_loader(root)) {}
    int load(const std::string& path, const std::string& parameters) override {
        const int failed = real_->load(path, parameters);
        return failed != 0 ? failed : EEXIST;
    }
    int load_by_name(const std::string& name, const std::string& parameters) override {
        return real_->load_by_name(name, parameters);
    }
    int unload(const std::string& name) override { return real_->unload(name); }
    int bind_console(const std::string& name, bool bound) override {
        return real_->bind_console(name, bound);
    }

  private:
    std::unique_ptr<ModuleLoader> real_;
};

class Converge : public testing::Test {
  protected:
    Converge() : old_(tree_.add_modules("535.261.03")), new_(tree_.add_modules("550.163.01")) {
        tree_.add_gpu("0000:65:00.0");
        tree_.add_gpu("0000:66:00.0");
    }

    using Gpus = std::optional<std::vector<std::string>>;

    base::Result<ConvergeReport> to(const ModuleGoal& goal, const ModuleGoal& before = {},
                                    Gpus gpus = std::vector<std::string>()) {
        const auto loader = make_module_loader(tree_.root());
        ConvergeOptions options;
        options.kernel = tests::test_kernel;
        options.before = before;
        options.module_deadline = deadline_;
        options.gpus = std::move(gpus);
        return converge(tree_.root(), *loader, goal, options);
    }

    void start_with_old() {
        ASSERT_TRUE(to(old_));
        ASSERT_TRUE(make_devices(tree_.root()));
        tree_.forget_log();
    }

    std::chrono::milliseconds deadline_{10'000};
    tests::KernelTree tree_;
    ModuleGoal old_;
    ModuleGoal new_;
};

TEST_F(Converge, LoadsTheDriverWithoutModulesLoaded) {
    const auto report = to(old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
    EXPECT_EQ(served_version(tree_.root()), "535.261.03");
    EXPECT_EQ(served_gpus(tree_.root()).size(), 2U);
    EXPECT_TRUE(loaded_module(tree_.root(), "video")) << "the dependency from the distribution";
    EXPECT_EQ(report->first_unload_us, 0U);
}

TEST_F(Converge, ModulesLoadedByUdevMeanwhileAreAccepted) {
    BeatenLoader loader(tree_.root());
    ConvergeOptions options;
    options.kernel = tests::test_kernel;
    options.module_deadline = deadline_;
    const auto report = converge(tree_.root(), loader, old_, options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
    EXPECT_TRUE(report->loaded.empty());
}

TEST_F(Converge, UnloadsLeafFirstAndLoadsRootFirst) {
    start_with_old();
    const auto report = to(new_, old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.kernel_log(), "unload nvidia_drm 535.261.03\nunload nvidia_modeset 535.261.03\n"
                                  "unload nvidia_uvm 535.261.03\nunload nvidia 535.261.03\n"
                                  "load nvidia 550.163.01\nload nvidia_uvm 550.163.01\n"
                                  "load nvidia_modeset 550.163.01\nload nvidia_drm 550.163.01\n");
    EXPECT_EQ(tree_.loaded(), all_550);
    EXPECT_GT(report->first_unload_us, 0U);
    EXPECT_GT(report->validated_us, report->first_unload_us);
}

TEST_F(Converge, ConvergedModulesAreKept) {
    start_with_old();
    const auto report = to(old_);
    ASSERT_TRUE(report);
    EXPECT_EQ(tree_.kernel_log(), "");
    EXPECT_TRUE(report->loaded.empty() && report->unloaded.empty());
}

TEST_F(Converge, ContinuesFromAnyPartialState) {
    start_with_old();
    // each failure leaves a different partial state
    for (const char* control : {"unload nvidia_uvm errno 5", "unload nvidia errno 5", "load nvidia errno 5",
                                "load nvidia_uvm errno 5", "load nvidia_drm errno 5"}) {
        ASSERT_TRUE(to(old_, new_));
        tree_.misbehave(control);
        EXPECT_FALSE(to(new_, old_)) << control;
        tree_.misbehave("");
        ASSERT_TRUE(to(new_, old_)) << control;
        EXPECT_EQ(tree_.loaded(), all_550);
    }
}

TEST_F(Converge, EmptyGoalUnloadsTheDriver) {
    start_with_old();
    ASSERT_TRUE(to(ModuleGoal{}, old_));
    EXPECT_EQ(tree_.loaded(), "");
}

TEST_F(Converge, UsedModuleReloadsTheUnloadedOnes) {
    start_with_old();
    tree_.add_process(4242, "python3", "/system.slice/train.service", "/dev/nvidiactl");
    const auto report = to(new_, old_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::InUse);
    EXPECT_NE(report.error().message.find("process 4242 (python3) of train.service"), std::string::npos)
        << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
    EXPECT_NE(tree_.kernel_log().find("unload nvidia_uvm"), std::string::npos)
        << "some modules were unloaded";
}

TEST_F(Converge, ModulesThatFailToReloadAreReported) {
    tree_.directory().write(
        "modules/535.261.03/nvidia-peermem.ko",
        tests::nvidia_module("nvidia_peermem", "535.261.03", std::string(tests::test_kernel), "nvidia"));
    old_.modules.push_back(
        {"nvidia_peermem", "/modules/535.261.03/nvidia-peermem.ko", "", "", {"nvidia"}, {}, true});
    start_with_old();
    ASSERT_TRUE(loaded_module(tree_.root(), "nvidia_peermem"));
    tree_.add_process(4242, "python3", "/system.slice/train.service", "/dev/nvidiactl");
    tree_.misbehave("load nvidia_peermem errno 5");
    const auto report = to(new_, old_);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("nvidia_peermem"), std::string::npos) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
}

TEST_F(Converge, ModprobesOptionsAreApplied) {
    const auto parameters = [this](const std::string& module) {
        return tree_.directory().read("sys/module/" + module + "/fake-parameters");
    };
    tree_.directory().write("etc/modprobe.d/gpuhost.conf", "options nvidia NVreg_Ours=9\n");
    tree_.directory().write("etc/modprobe.d/site.conf", "options nvidia NVreg_A=1  NVreg_B=1\n"
                                                        "install nvidia /bin/false\nblacklist nvidia_uvm\n"
                                                        "options video brightness_switch_enabled=0\n");
    tree_.directory().write("usr/lib/modprobe.d/site.conf", "options nvidia NVreg_Hidden=1\n");
    tree_.directory().write("usr/lib/modprobe.d/uvm.conf", "options nvidia-uvm uvm_disable_hmm=1\n");
    old_.modules[0].parameters = "NVreg_A=2";
    ASSERT_TRUE(to(old_));
    EXPECT_EQ(parameters(old_.modules[0].name), "NVreg_A=1 NVreg_B=1 NVreg_A=2\n");
    EXPECT_EQ(parameters("nvidia_uvm"), "uvm_disable_hmm=1\n");
    EXPECT_EQ(parameters("video"), "brightness_switch_enabled=0\n");
    ASSERT_TRUE(to(new_, old_));
    EXPECT_EQ(parameters("nvidia_uvm"), "uvm_disable_hmm=1\n");
    ASSERT_TRUE(to(old_, new_, std::nullopt));
    EXPECT_EQ(parameters("nvidia_uvm"), "uvm_disable_hmm=1\n") << "also during the undo";
}

TEST_F(Converge, DriverThatServesNoGpuFails) {
    start_with_old();
    tree_.misbehave("load nvidia@550.163.01 no-gpu");
    const auto report = to(new_, old_);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("0000:65:00.0"), std::string::npos) << report.error().message;
    ASSERT_TRUE(to(old_, new_, std::nullopt)) << "the undo still works";
    EXPECT_EQ(tree_.loaded(), all_535);
}

TEST_F(Converge, GpuThatFailsToProbeIsReported) {
    tree_.misbehave("probe 0000:66:00.0 errno 1");
    const auto report = to(old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
    EXPECT_EQ(served_gpus(tree_.root()), std::vector<std::string>{"0000:65:00.0"});
    const std::vector<std::string> sentences = describe_unserved_gpus(tree_.root());
    ASSERT_EQ(sentences.size(), 1U);
    EXPECT_NE(sentences[0].find("GPU 0000:66:00.0 is not served by driver 535.261.03"), std::string::npos)
        << sentences[0];
}

TEST_F(Converge, FormerlyServedGpuIsRequired) {
    start_with_old();
    tree_.misbehave("probe 0000:66:00.0@550.163.01 errno 1");
    EXPECT_TRUE(to(new_, old_, Gpus({"0000:65:00.0"})));
    ASSERT_TRUE(to(old_, new_, std::nullopt));
    const auto report = to(new_, old_, Gpus({"0000:65:00.0", "0000:66:00.0"}));
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("0000:66:00.0"), std::string::npos) << report.error().message;
}

TEST_F(Converge, GpuMissingOnItsBusIsNotRequired) {
    start_with_old();
    tree_.misbehave("probe 0000:66:00.0 errno 1");
    tree_.directory().write("sys/bus/pci/devices/0000:66:00.0/config", "\xff\xff\xff\xff");
    const auto report = to(new_, old_, Gpus({"0000:65:00.0", "0000:66:00.0"}));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_NE(describe_unserved_gpus(tree_.root()).at(0).find("does not respond on the PCI bus"),
              std::string::npos);
}

TEST_F(Converge, GpusOfOtherDriversAreIgnored) {
    tree_.add_gpu("0000:67:00.0", "vfio-pci");
    EXPECT_TRUE(to(old_));
}

TEST_F(Converge, NouveauIsUnloaded) {
    tree_.directory().write("sys/module/nouveau/initstate", "live\n");
    tree_.directory().write("sys/module/nouveau/refcnt", "0\n");
    tree_.add_gpu("0000:67:00.0", "nouveau");
    const auto report = to(old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(served_gpus(tree_.root()).size(), 3U);
    EXPECT_FALSE(loaded_module(tree_.root(), "nouveau"));
}

struct Refusal {
    int error;
    Errc code;
    const char* word;
};

TEST_F(Converge, LoadErrorsHaveCodeAndReason) {
    for (const Refusal& refusal :
         {Refusal{ENOKEY, Errc::AccessDenied, "key"}, Refusal{EKEYREJECTED, Errc::AccessDenied, "signature"},
          Refusal{EPERM, Errc::AccessDenied, "unsigned"}, Refusal{ENODEV, Errc::Failed, "GPU"},
          Refusal{EEXIST, Errc::Busy, "another program"},
          Refusal{ENOEXEC, Errc::Unsupported, "another kernel"}}) {
        tree_.misbehave("load nvidia errno " + std::to_string(refusal.error));
        const auto report = to(old_);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code, refusal.code) << refusal.error;
        EXPECT_NE(report.error().message.find(refusal.word), std::string::npos) << report.error().message;
        EXPECT_FALSE(report.error().hint.empty());
    }
}

TEST_F(Converge, MissingOptionalModuleIsANote) {
    old_.modules.push_back({"nvidia_peermem", "/absent.ko", "", "", {"nvidia", "ib_core"}, {}, true});
    tree_.misbehave("load ib_core errno 2");
    const auto report = to(old_);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->notes.size(), 1U) << "the dependency's own failure is not reported twice";
    EXPECT_NE(report->notes[0].find("nvidia_peermem"), std::string::npos);
    EXPECT_EQ(report->loaded.size(), 4U);
}

TEST_F(Converge, HangingModuleReportsRebootRequired) {
    start_with_old();
    tree_.misbehave("unload nvidia_uvm hang");
    deadline_ = std::chrono::seconds(3); // per module; the other modules must keep it on a busy machine
    const auto report = to(new_, old_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::RebootRequired);
    EXPECT_NE(report.error().message.find("nvidia_uvm"), std::string::npos);
    // the next call fails immediately, without another deadline
    const auto next = ModuleLock::take(tree_.root(), std::chrono::hours(1));
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, Errc::RebootRequired);
    EXPECT_NE(next.error().message.find("nvidia_uvm"), std::string::npos);
}

TEST_F(Converge, ModuleLoadedByUdevIsAccepted) {
    tree_.misbehave("load nvidia race");
    const auto report = to(old_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
}

TEST_F(Converge, DeadChildIsInterrupted) {
    tree_.misbehave("load nvidia_uvm die");
    const auto report = to(old_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::Interrupted);
    tree_.misbehave("");
    EXPECT_TRUE(to(old_));
}

TEST_F(Converge, LoadOfADeadWorkerIsAwaited) {
    start_with_old();
    tree_.misbehave("load nvidia delay 300");
    const pid_t worker = ::fork();
    if (worker == 0) {
        (void)to(new_, old_);
        ::_exit(0);
    }
    ASSERT_GT(worker, 0);
    const bool began = tests::eventually(
        [this] { return tree_.kernel_log().find("unload nvidia 535") != std::string::npos; });
    ::kill(worker, SIGKILL);
    ::waitpid(worker, nullptr, 0);
    ASSERT_TRUE(began);
    const auto report = to(old_, new_, std::nullopt);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(tree_.loaded(), all_535);
}

} // namespace
} // namespace gpuhost::kmod
