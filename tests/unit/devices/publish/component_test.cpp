// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/component.hpp"
#include "daemon/devices/publish/config_file.hpp"
#include "daemon/devices/publish/marks.hpp"
#include "daemon/devices/publish/offer_files.hpp"
#include "daemon/devices/publish/other_servers.hpp"
#include "daemon/devices/publish/present_gpus.hpp"
#include "daemon/devices/publish/state.hpp"
#include "daemon/devices/publish/steps.hpp"
#include "daemon/runtime/cdi/driver_root.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::devices {
namespace {

using base::Errc;
using base::Json;
using Texts = std::vector<std::string>;

/// A socket of a device plugin; listens until it is destroyed, and leaves the file.
class Listener {
  public:
    explicit Listener(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        EXPECT_LT(path.size(), sizeof address.sun_path);
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(socket_.get(), 1), 0);
    }

  private:
    base::UniqueFd socket_;
};

class DevicesTest : public testing::Test {
  protected:
    DevicesTest() { set("Serve", "plugin"); }

    void set(const std::string& key, const std::string& value) {
        ASSERT_TRUE(settings_.set("Devices", key, value, "test"));
    }
    void load(const std::string& version = "550.163.01") const {
        host_.write("/sys/module/nvidia/version", version + "\n");
        add_gpu("0000:06:00.0", 0);
    }
    void add_gpu(const std::string& address, unsigned minor) const {
        host_.write("/proc/driver/nvidia/gpus/" + address + "/information",
                    "GPU UUID: GPU-" + std::to_string(minor) + "\nDevice Minor: " + std::to_string(minor) +
                        "\n");
        host_.write("/sys/bus/pci/devices/" + address + "/numa_node", "1\n");
    }
    [[nodiscard]] core::Plan plan(bool driver_changes = false, bool creates_devices = false) const {
        DevicesComponent component(root_);
        const auto observed = component.observe(settings_);
        EXPECT_TRUE(observed);
        return component.plan({settings_, Json::object(), false, driver_changes, false, creates_devices},
                              *observed);
    }
    /// Runs apply or undo of a step in the transaction `staging`.
    base::Result<Json> run(const core::Step& step, bool undo = false, const std::string& staging = "one") {
        const Json none = Json::object();
        core::StepContext context{root_, none, "boot", staging, {}, [](double, std::string_view) {}};
        context.warn = [&](const std::string& text) {
            warnings_.push_back(text);
            on_warning_();
        };
        const core::StepCode code = *codes_.find(step.kind);
        if (!undo)
            return code.apply(context, step.args);
        GPUHOST_CHECK(code.undo(context, step.args));
        return Json();
    }
    [[nodiscard]] core::Step publishing() const {
        return devices_publish_step(devices_settings(settings_), "");
    }
    [[nodiscard]] core::StepsAround around(bool offered = true) const {
        return devices_steps_around(devices_settings(settings_), offered);
    }
    /// Offers the GPUs as if NVML had answered.
    void forget_failure() const {
        auto offer = read_offer(root_);
        auto record = read_offer_record(root_);
        ASSERT_TRUE(offer && record);
        offer->withdrawn.clear();
        record->id = *write_offer(root_, *offer);
        ASSERT_TRUE(write_offer_record(root_, *record));
    }
    /// Returns true if NVML's failure is the reason why the GPUs are withdrawn: no library exists here.
    [[nodiscard]] bool only_nvml_fails() const {
        return read_offer(root_)->withdrawn == runtime::present_driver(root_).error().message;
    }
    [[nodiscard]] static core::StepCodes all_codes() {
        core::StepCodes codes;
        codes.add(devices_step_code());
        return codes;
    }

    tests::TempDir host_;
    base::Root root_ = host_.root();
    core::Settings settings_{{devices_setting_keys()}};
    core::StepCodes codes_ = all_codes();
    Texts warnings_;
    std::function<void()> on_warning_ = [] {};
};

TEST_F(DevicesTest, InvalidSettingsAreNamed) {
    EXPECT_EQ(devices_settings(settings_).mistake, "");
    for (const char* name :
         {"gpu", "nvidia.com/", "/gpu", "nvidia.com/a/b", "Nvidia.com/gpu", "nvidia.com/-gpu",
          "nvidia..com/gpu", "kubernetes.io/gpu", "a.kubernetes.io/gpu", "requests.a/gpu"}) {
        set("ResourceName", name);
        EXPECT_NE(devices_settings(settings_).mistake, "") << name;
    }
    EXPECT_EQ(plan().undecided->text,
              "section [Devices]: ResourceName=requests.a/gpu is reserved for Kubernetes");
    EXPECT_EQ(plan(true).undecided->code, Errc::InvalidArgument);
    set("ResourceName", "example.org/h100.80gb");
    for (const char* path : {"var/lib", "/", "/var/../etc", "/var//lib", "/var/lib/", "/a.sock/./b"}) {
        set("KubeletRoot", path);
        EXPECT_NE(devices_settings(settings_).mistake, "") << path;
    }
    set("KubeletRoot", "/var/snap/microk8s/common/var/lib/kubelet");
    EXPECT_EQ(devices_settings(settings_).mistake, "");
    set("ResourceName", "nvidia.com/gpu");
    set("MigStrategy", "mixed");
    EXPECT_EQ(devices_settings(settings_).mistake, "");
    set("KubeletRoot", "/var/snap/microk8s/common/longer/var/lib/kubelet");
    EXPECT_NE(devices_settings(settings_).mistake.find("characters; the limit is 107"), std::string::npos);
    set("MigStrategy", "none");
    EXPECT_EQ(devices_settings(settings_).mistake, "");
    set("ResourceName", "example.org/" + std::string(40, 'a'));
    EXPECT_NE(devices_settings(settings_).mistake, "");
    EXPECT_FALSE(settings_.set("Devices", "Serve", "dra", "test"));
    EXPECT_FALSE(settings_.set("Devices", "MigStrategy", "all", "test"));
}

TEST_F(DevicesTest, NewInstancesAreOfferedToo) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
    EXPECT_EQ(plan(false, true).steps.size(), 1U);
    set("Serve", "off");
    EXPECT_EQ(plan(false, true).reasons, plan().reasons);
}

TEST_F(DevicesTest, InvalidSettingsDoNotKeepTheOffer) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    set("ConfigFile", "/tmp/a.yaml");
    EXPECT_TRUE(plan().steps.empty() && plan().undecided);
    EXPECT_FALSE(run(publishing(), false, "invalid"));
    EXPECT_TRUE(root_.exists(offer_path));
    {
        host_.write("/var/lib/kubelet/device-plugins/x", "");
        const Listener nvidia(host_.path("/var/lib/kubelet/device-plugins/nvidia-gpu.sock"));
        ASSERT_EQ(plan().steps.size(), 1U);
        ASSERT_TRUE(run(plan().steps.at(0), false, "other"));
        EXPECT_FALSE(root_.exists(offer_path));
        ASSERT_TRUE(run(publishing(), true, "other"));
    }
    ASSERT_TRUE(root_.exists(offer_path)) << "undone";
    ASSERT_TRUE(root_.remove("/sys/module/nvidia/version"));
    EXPECT_EQ(plan().reasons, Texts{"no driver is loaded"});
    EXPECT_EQ(plan().undecided->code, Errc::InvalidArgument);
    ASSERT_TRUE(run(plan().steps.at(0), false, "unloaded"));
    EXPECT_FALSE(root_.exists(offer_path));
}

TEST_F(DevicesTest, OnlyListeningPluginsAreOtherServers) {
    EXPECT_EQ(other_servers(root_), Texts());
    const std::string path = "/var/lib/kubelet/device-plugins/";
    host_.write(path + "kubelet_internal_checkpoint", "");
    const std::string directory = host_.path(path);
    { const Listener gone(directory + "nvidia-mig-1g.10gb.sock"); }
    const Listener kubelet(directory + "kubelet.sock");
    EXPECT_EQ(other_servers(root_), Texts());
    const Listener nvidia(directory + "nvidia-gpu.sock");
    EXPECT_EQ(other_servers(root_), Texts{path + "nvidia-gpu.sock"});
}

TEST_F(DevicesTest, NvmlCompletesTheDriversFiles) {
    load();
    add_gpu("0000:07:00.0", 1);
    host_.write("/sys/bus/pci/devices/0000:07:00.0/numa_node", "-1\n");
    std::vector<runtime::NvmlGpu> said{
        {0, true, {{2, "MIG-a", 3, 1, false, "1c.3g.40gb"}}, "", "GPU-x", "", "H100", 81559, "9.0"}};
    const auto merged = merge_gpus(root_, runtime::read_gpus(root_), said);
    ASSERT_EQ(merged.gpus.size(), 2U);
    const Gpu expected{
        "GPU-x", "0000:06:00.0", 0, 1, "H100", 81559, "9.0", true, {{"MIG-a", "1c.3g.40gb", 2, 3, 1}}, ""};
    EXPECT_EQ(merged.gpus[0], expected);
    EXPECT_EQ(merged.gpus[1].uuid, "GPU-1");
    EXPECT_EQ(merged.gpus[1].numa, std::nullopt);
    EXPECT_EQ(merged.problems, Texts{"GPU 0000:07:00.0: NVML does not report the GPU"});
    host_.write("/proc/driver/nvidia/capabilities/gpu1/mig/gi1/access", "");
    host_.write("/proc/driver/nvidia/gpus/0000:06:00.0/information", "GPU UUID: GPU-??\nDevice Minor: 0\n");
    const auto silent =
        merge_gpus(root_, runtime::read_gpus(root_), base::fail(base::Error{Errc::Timeout, "no answer", ""}));
    ASSERT_EQ(silent.gpus.size(), 1U) << "a GPU without UUID is left out";
    EXPECT_TRUE(silent.gpus[0].split);
    EXPECT_EQ(silent.problems, Texts{"GPU 0000:06:00.0 is not offered: its UUID is unknown"});
    EXPECT_EQ(silent.failure, "no answer");
    said.push_back({1, false, {}, "", "GPU-x", "", "H100", 81559, "9.0"});
    const auto twice = merge_gpus(root_, runtime::read_gpus(root_), said);
    ASSERT_EQ(twice.gpus.size(), 1U);
    EXPECT_EQ(twice.problems, Texts{"GPU 0000:07:00.0 is not offered: the list of GPUs has a UUID twice"});
}

TEST_F(DevicesTest, MissingGpuRenumbersInNvml) {
    load();
    add_gpu("0000:07:00.0", 1);
    runtime::NvmlGpu said;
    said.minor = 1;
    said.uuid = "GPU-1";
    EXPECT_FALSE(merge_gpus(root_, runtime::read_gpus(root_), std::vector{said}).renumbered);
    said.index = 1;
    EXPECT_FALSE(merge_gpus(root_, runtime::read_gpus(root_), std::vector{said}).renumbered);
    said.index = 0;
    EXPECT_TRUE(merge_gpus(root_, runtime::read_gpus(root_), std::vector{said}).renumbered);
}

TEST_F(DevicesTest, FactsForLabelsAreMerged) {
    load();
    host_.write("/sys/bus/pci/devices/0000:06:00.0/class", "0x030200\n");
    host_.write("/sys/class/dmi/id/product_name", "DGX\x01H100\n");
    runtime::NvmlGpu said;
    said.cuda_version = 12040;
    said.mig_capable = said.vgpu = true;
    said.fabric = "a.1";
    said.instances = {{0, "MIG-a", 3, 0, false, "1g.10gb", {9856, 16, 1, 2, 3, 4, 5, 6, 7}}};
    const auto merged = merge_gpus(root_, runtime::read_gpus(root_), std::vector{said});
    EXPECT_EQ(merged.host, (HostFacts{"550.163.01", 12040, "DGXH100"}));
    const Gpu& gpu = merged.gpus.at(0);
    EXPECT_EQ(gpu.pci_class, "0x030200");
    EXPECT_TRUE(gpu.mig_capable && gpu.vgpu);
    EXPECT_EQ(gpu.fabric, "a.1");
    EXPECT_EQ(gpu.instances.at(0).attributes, (Attributes{9856, 16, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(DevicesTest, NvlinksNameGpusByUuid) {
    load();
    add_gpu("0000:07:00.0", 1);
    std::vector<runtime::NvmlGpu> said(3);
    for (unsigned minor = 0; minor < 3; ++minor) {
        said[minor].minor = minor;
        said[minor].uuid = "GPU-" + std::to_string(minor);
        said[minor].nvlinks = {{1 - std::min(minor, 1U), 4}, {2, 2}};
    }
    const auto merged = merge_gpus(root_, runtime::read_gpus(root_), said);
    ASSERT_EQ(merged.gpus.size(), 2U);
    EXPECT_EQ(merged.gpus[0].nvlinks, (std::vector<NvLinks>{{"GPU-1", 4}})) << "GPU 2 is not present";
    EXPECT_EQ(merged.gpus[1].nvlinks, (std::vector<NvLinks>{{"GPU-0", 4}}));
}

TEST_F(DevicesTest, IncompleteFabricIsAProblem) {
    load();
    runtime::NvmlGpu said;
    said.uuid = "GPU-x";
    said.joins_fabric = true;
    const auto merged = merge_gpus(root_, runtime::read_gpus(root_), std::vector{said});
    EXPECT_EQ(merged.problems, Texts{"GPU 0000:06:00.0: the NVLink fabric is not complete yet"});
    EXPECT_EQ(merged.gpus.size(), 1U) << "it is offered";
}

TEST_F(DevicesTest, LabelsForNfdFollowTheOffer) {
    Offer offer{"", "nvidia.com/gpu", MigStrategy::none, "", {}, {}, {}, LabelMode::nfd};
    const auto publish = [&] {
        ASSERT_TRUE(write_offer(root_, offer));
        ASSERT_TRUE(write_features(root_));
    };
    Gpu& gpu = offer.gpus.emplace_back();
    gpu.uuid = "GPU-0";
    gpu.address = "0000:06:00.0";
    gpu.model = "H100";
    publish();
    const std::string text = root_.read(features_path, largest_offer).value();
    EXPECT_NE(text.find("nvidia.com/gpu.product=H100\n"), std::string::npos) << text;
    EXPECT_TRUE(has_features(root_, offer));
    offer.withdrawn = "the driver is being replaced";
    publish();
    EXPECT_EQ(root_.read(features_path, largest_offer).value(), text) << "withdrawn GPUs keep their labels";
    offer.withdrawn.clear();
    gpu.model.clear();
    publish();
    EXPECT_EQ(root_.read(features_path, largest_offer).value(), text) << "unknown GPUs keep their labels";
    offer.labels = LabelMode::node;
    EXPECT_FALSE(has_features(root_, offer));
    publish();
    EXPECT_FALSE(root_.exists(features_path));
}

TEST_F(DevicesTest, FailureOfLabelsForNfdIsAWarning) {
    load();
    host_.write(std::string(features_path) + "/in-the-way", "");
    const auto is_warned = [&] {
        return std::any_of(warnings_.begin(), warnings_.end(),
                           [](const std::string& one) { return one.find("Feature Discovery") != one.npos; });
    };
    ASSERT_TRUE(run(publishing()));
    EXPECT_TRUE(read_offer(root_) && is_warned());
    forget_failure();
    EXPECT_EQ(plan().reasons, Texts{"the file of labels for Node Feature Discovery is outdated"});
    warnings_.clear();
    EXPECT_TRUE(run(publishing(), true)) << "undo";
    EXPECT_TRUE(is_warned());
    ASSERT_TRUE(run(publishing(), false, "two"));
    set("Serve", "off");
    warnings_.clear();
    ASSERT_TRUE(run(publishing(), false, "three"));
    EXPECT_TRUE(!root_.exists(offer_path) && is_warned());
    EXPECT_FALSE(plan().steps.empty()) << "the next plan removes the file";
}

TEST_F(DevicesTest, FormerLabelsForNfdAreRemovedWithoutOffer) {
    host_.write(std::string(features_path), "nvidia.com/gpu.product=H100\n");
    EXPECT_TRUE(plan().steps.empty()) << "the driver may load later";
    ASSERT_TRUE(run(publishing(), false, "zero"));
    EXPECT_TRUE(root_.exists(features_path));
    set("Serve", "off");
    ASSERT_EQ(plan().reasons, Texts{"section [Devices] has Serve=off"});
    ASSERT_TRUE(run(plan().steps.at(0)));
    EXPECT_FALSE(root_.exists(features_path));
    EXPECT_TRUE(plan().steps.empty());
    set("Serve", "plugin");
    load();
    host_.write(std::string(features_path), "nvidia.com/gpu.product=H100\n");
    host_.write("/var/lib/kubelet/device-plugins/x", "");
    const Listener nvidia(host_.path("/var/lib/kubelet/device-plugins/nvidia-gpu.sock"));
    ASSERT_TRUE(run(plan().steps.at(0), false, "two"));
    EXPECT_FALSE(root_.exists(features_path)) << "another plugin offers the GPUs";
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(DevicesTest, PlanFollowsSettingsAndHost) {
    EXPECT_TRUE(plan().steps.empty()) << "no driver";
    load();
    EXPECT_EQ(plan().reasons, Texts{"the GPUs of driver 550.163.01 are not offered to the kubelet"});
    EXPECT_TRUE(plan(true).steps.empty()) << "the driver's plan publishes";
    ASSERT_TRUE(run(publishing()));
    EXPECT_TRUE(only_nvml_fails());
    EXPECT_EQ(plan().reasons.at(0),
              "the GPUs are withdrawn from the kubelet: " + read_offer(root_)->withdrawn);
    forget_failure();
    EXPECT_EQ(plan().reasons, Texts());
    set("MigStrategy", "mixed");
    add_gpu("0000:07:00.0", 1);
    EXPECT_EQ(plan().reasons, (Texts{"the GPUs have changed", "MigStrategy= has changed"}));
    load("560.35.03");
    EXPECT_EQ(plan().reasons,
              Texts{"the offer to the kubelet is for driver 550.163.01, but 560.35.03 is loaded"});
    set("Serve", "off");
    EXPECT_EQ(plan().title, "no longer offer GPUs to the kubelet");
    ASSERT_TRUE(run(plan().steps.at(0)));
    EXPECT_FALSE(root_.exists(offer_path) || root_.exists(registry_link));
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(DevicesTest, OtherPluginIsNotJoined) {
    load();
    host_.write("/var/lib/kubelet/device-plugins/x", "");
    const Listener nvidia(host_.path("/var/lib/kubelet/device-plugins/nvidia-gpu.sock"));
    const core::Plan refused = plan();
    EXPECT_TRUE(refused.steps.empty());
    ASSERT_TRUE(refused.undecided);
    EXPECT_NE(refused.undecided->text.find("'/var/lib/kubelet/device-plugins/nvidia-gpu.sock'"),
              std::string::npos);
    EXPECT_NE(refused.undecided->hint.find("nvidia.com/gpu.deploy.device-plugin=false"), std::string::npos);
    const auto done = run(publishing());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::Refused);
    EXPECT_TRUE(run(around().after.at(0))) << "a working driver is not undone";
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_FALSE(read_offer(root_));
}

TEST_F(DevicesTest, LaterOtherPluginEndsTheOffer) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    host_.write("/var/lib/kubelet/device-plugins/x", "");
    const Listener nvidia(host_.path("/var/lib/kubelet/device-plugins/nvidia-gpu.sock"));
    const core::Plan removal = plan();
    EXPECT_EQ(removal.title, "no longer offer GPUs to the kubelet");
    EXPECT_TRUE(removal.undecided && !removal.reasons.empty());
    ASSERT_EQ(removal.steps.size(), 1U);
    warnings_.clear();
    EXPECT_TRUE(run(removal.steps[0])) << "a failure would restore the offer";
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_FALSE(root_.exists(offer_path));
    EXPECT_TRUE(plan().steps.empty() && plan().undecided);
}

TEST_F(DevicesTest, SwapWithInvalidSettingsPublishesNothing) {
    load();
    ASSERT_TRUE(run(publishing()));
    const Offer before = *read_offer(root_);
    set("ResourceName", "gpu");
    load("560.35.03");
    warnings_.clear();
    ASSERT_TRUE(run(around().after.at(0)));
    EXPECT_EQ(read_offer(root_), before);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("ResourceName=gpu"), std::string::npos) << warnings_[0];
}

TEST_F(DevicesTest, SwapWithdrawsAndReturnsTheGpus) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    EXPECT_EQ(root_.read_link(registry_link).value_or(""), "/var/lib/kubelet/plugins_registry/gpuhost");
    EXPECT_EQ(root_.stat("/var/lib/kubelet/plugins_registry/gpuhost")->st_mode & 07777U, 0700U);
    const Offer before = *read_offer(root_);
    EXPECT_EQ(before.gpus.at(0).numa, 1U);
    EXPECT_EQ(before.gpus.at(0).uuid, "GPU-0");
    const core::Step withdrawal = around().first.at(0);
    ASSERT_TRUE(run(withdrawal, false, "two"));
    Offer withdrawn = *read_offer(root_);
    EXPECT_EQ(withdrawn.withdrawn, "the driver is being replaced");
    EXPECT_NE(withdrawn.id, before.id);
    EXPECT_EQ(withdrawn.gpus, before.gpus);
    EXPECT_TRUE(withdrawal.passive);
    ASSERT_TRUE(run(withdrawal, true, "two"));
    EXPECT_TRUE(only_nvml_fails());
    forget_failure();
    ASSERT_TRUE(run(withdrawal, false, "two"));
    load("560.35.03");
    ASSERT_TRUE(run(around().after.at(0), false, "two"));
    EXPECT_TRUE(only_nvml_fails());
    ASSERT_TRUE(run(around().after.at(0), true, "two"));
    EXPECT_EQ(read_offer(root_)->withdrawn, "the driver is being replaced") << "as before the step";
    ASSERT_TRUE(run(publishing(), true, "three")) << "this transaction saved nothing";
    EXPECT_EQ(read_offer(root_)->withdrawn, "the driver is being replaced");
}

TEST_F(DevicesTest, WithoutOfferSwapsDoNothing) {
    load();
    ASSERT_TRUE(run(around().first.at(0)));
    ASSERT_TRUE(run(around().first.at(0), true));
    EXPECT_FALSE(root_.exists(offer_path));
    set("Serve", "off");
    EXPECT_TRUE(around(false).first.empty() && around(false).after.empty());
    EXPECT_EQ(around(true).after.size(), 1U) << "removes what remains";
}

TEST_F(DevicesTest, UndoneFirstOfferIsRemoved) {
    load();
    ASSERT_TRUE(run(publishing()));
    ASSERT_TRUE(run(publishing())) << "again after an interruption";
    ASSERT_TRUE(run(publishing(), true));
    EXPECT_FALSE(root_.exists(offer_path));
}

TEST_F(DevicesTest, OfferWithoutItsRecordIsWrittenAgain) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    Offer offer = *read_offer(root_);
    ASSERT_TRUE(write_offer(root_, offer));
    EXPECT_EQ(plan().reasons,
              Texts{"the offer to the kubelet is incomplete, or another program has changed it"});
    host_.write(offer_path, "{");
    EXPECT_EQ(plan().steps.size(), 1U);
}

TEST_F(DevicesTest, UndoRestoresOfferRecordAndLink) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    const Offer offer = *read_offer(root_);
    set("KubeletRoot", "/k");
    ASSERT_TRUE(run(publishing(), false, "two"));
    ASSERT_NE(*read_offer(root_), offer);
    ASSERT_TRUE(run(publishing(), true, "two"));
    EXPECT_EQ(*read_offer(root_), offer);
    EXPECT_EQ(read_offer_record(root_)->id, offer.id);
    EXPECT_EQ(root_.read_link(registry_link).value_or(""), "/var/lib/kubelet/plugins_registry/gpuhost");
}

TEST_F(DevicesTest, RegistryIsNotMadeThroughLinks) {
    load();
    ASSERT_TRUE(root_.make_directories("/var/lib"));
    ASSERT_TRUE(root_.make_directories("/elsewhere"));
    ASSERT_TRUE(root_.symlink_atomic("/elsewhere", "/var/lib/kubelet"));
    const auto done = run(publishing());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::Refused);
    EXPECT_NE(done.error().hint.find("realpath /var/lib/kubelet"), std::string::npos);
    EXPECT_EQ(root_.list("/elsewhere").value(), Texts());
    EXPECT_FALSE(root_.exists(offer_path));
}

TEST_F(DevicesTest, AStartingServerIsAwaited) {
    host_.write("/etc/systemd/system/paths.target.wants/gpuhost-devices.path", "");
    std::thread server([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        host_.write(answer_path, to_text(Answer{"1", {}, {}}));
    });
    EXPECT_TRUE(wait_for_answer(root_, "1", std::chrono::seconds(30)));
    EXPECT_TRUE(root_.exists(answer_path)) << "it did not wait";
    server.join();
}

TEST_F(DevicesTest, RemovedRegistryIsMadeAgain) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    ASSERT_TRUE(plan().steps.empty());
    ASSERT_TRUE(root_.remove_tree("/var/lib/kubelet"));
    ASSERT_EQ(plan().steps.size(), 1U);
    EXPECT_NE(plan().reasons.at(0).find("KubeletRoot="), std::string::npos);
    ASSERT_TRUE(run(plan().steps.at(0), false, "two"));
    EXPECT_TRUE(root_.exists("/var/lib/kubelet/plugins_registry/gpuhost"));
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(DevicesTest, AnswerIsAwaitedWhileTheServerRuns) {
    EXPECT_TRUE(wait_for_answer(root_, "1", std::chrono::hours(1))) << "nobody answers";
    host_.write(answer_path, to_text(Answer{"0", {}, {}}));
    EXPECT_FALSE(wait_for_answer(root_, "1", std::chrono::milliseconds(1)));
    std::thread server([&] { host_.write(answer_path, to_text(Answer{"1", {}, {}})); });
    EXPECT_TRUE(wait_for_answer(root_, "1", std::chrono::seconds(30)));
    server.join();
}

TEST_F(DevicesTest, MovedKubeletRootEndsTheServerFirst) {
    load();
    ASSERT_TRUE(run(publishing()));
    set("KubeletRoot", "/k");
    host_.write(answer_path, "");
    std::thread server([&] {
        while (root_.exists(offer_path))
            std::this_thread::yield();
        EXPECT_TRUE(root_.remove_tree("/run/gpuhost-devices"));
    });
    ASSERT_TRUE(run(publishing()));
    server.join();
    EXPECT_EQ(root_.read_link(registry_link).value_or(""), "/k/plugins_registry/gpuhost");
    EXPECT_TRUE(read_offer(root_));
    EXPECT_EQ(warnings_.size(), 2U) << "only that NVML did not answer, twice";
}

TEST_F(DevicesTest, XidsAreNumbers) {
    set("IgnoreXids", "13 31 31");
    set("FatalXids", "48");
    EXPECT_EQ(devices_settings(settings_).ignore_xids, (std::vector<unsigned>{13, 31}));
    const DevicesSettings again = devices_settings_from_json(to_json(devices_settings(settings_)));
    EXPECT_EQ(again.fatal_xids, (std::vector<unsigned>{48}));
    const core::SettingKey& key = *settings_.get("Devices", "IgnoreXids").key;
    EXPECT_EQ(key.mistake("13 31"), "");
    for (const char* value : {"0", "13,31", "10000", "-1", "all"})
        EXPECT_NE(key.mistake(value), "") << value;
    const core::SettingKey& fatal = *settings_.get("Devices", "FatalXids").key;
    EXPECT_EQ(fatal.mistake("13 31"), "");
    for (const char* value : {"0", "13 154"})
        EXPECT_NE(fatal.mistake(value), "") << value;
}

class MarksTest : public DevicesTest {
  protected:
    MarksTest() {
        load();
        EXPECT_TRUE(run(publishing()));
    }
    [[nodiscard]] core::Plan requested(const Json& request) const {
        DevicesComponent component(root_);
        const Json whole{{"devices", request}};
        const auto observed = component.observe(settings_);
        EXPECT_TRUE(observed);
        return component.plan({settings_, whole, false, false}, *observed);
    }
    [[nodiscard]] core::Plan marking(const std::string& device = "GPU-0",
                                     const std::string& reason = "RMA") const {
        return requested({{"request", "mark"}, {"device", device}, {"reason", reason}});
    }
    [[nodiscard]] core::Plan clearing(const std::string& device = "GPU-0") const {
        return requested({{"request", "clear"}, {"device", device}});
    }
    [[nodiscard]] HealthRules offered() const { return read_offer(root_)->health; }
};

TEST_F(MarksTest, MarkIsOfferedAndKept) {
    const std::string before = read_offer(root_)->id;
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    ASSERT_EQ(offered().marks.size(), 1U);
    EXPECT_EQ(offered().marks[0].uuid, "GPU-0");
    EXPECT_EQ(offered().marks[0].reason, "RMA");
    EXPECT_NE(read_offer(root_)->id, before);
    EXPECT_EQ(read_offer_record(root_)->id, read_offer(root_)->id);
    const auto since = offered().marks[0].since_us;
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/again"));
    EXPECT_EQ(offered().marks[0].since_us, since);
    std::filesystem::remove_all(host_.path("run")); // a restart of the host
    ASSERT_TRUE(run(publishing(), false, "boot"));
    EXPECT_EQ(offered().marks.size(), 1U);
}

TEST_F(MarksTest, ClearRemovesTheMark) {
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    ASSERT_TRUE(run(clearing("0").steps.at(0), false, "/staging/clear"));
    EXPECT_TRUE(offered().marks.empty());
    ASSERT_EQ(offered().clears.size(), 1U);
    EXPECT_GT(offered().clears[0].time_us, 0);
    EXPECT_FALSE(root_.exists(marks_path));
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(MarksTest, UndoRestoresTheMarks) {
    ASSERT_TRUE(run(marking("GPU-0", "first").steps.at(0), false, "/staging/one"));
    const core::Step step = marking("GPU-0", "second").steps.at(0);
    ASSERT_TRUE(run(step, false, "/staging/two"));
    EXPECT_EQ(offered().marks[0].reason, "second");
    ASSERT_TRUE(run(step, true, "/staging/two"));
    EXPECT_EQ(offered().marks[0].reason, "first");
    EXPECT_EQ(health_rules(root_, devices_settings(settings_))->marks[0].reason, "first");
}

TEST_F(MarksTest, DevicesAreNamedByUuidAddressOrIndex) {
    for (const char* name : {"GPU-0", "0000:06:00.0", "06:00.0", "0"})
        EXPECT_EQ(marking(name).steps.at(0).args["device"], "GPU-0") << name;
    for (const char* name : {"", "1", "GPU-9", "06:00", "*", "18446744073709551615"})
        EXPECT_EQ(marking(name).problems.at(0).code, Errc::NotFound) << name;
}

TEST_F(MarksTest, ReasonIsOneShortLine) {
    for (const std::string& reason :
         {std::string(), std::string("  "), std::string("a\nb"), std::string(201, 'a'), std::string("\xff")})
        EXPECT_EQ(marking("GPU-0", reason).problems.at(0).code, Errc::InvalidArgument) << reason;
    EXPECT_TRUE(marking("GPU-0", std::string(200, 'a')).problems.empty());
}

TEST_F(MarksTest, UnknownRequestIsRefused) {
    EXPECT_EQ(requested({{"request", "reset"}}).problems.at(0).code, Errc::InvalidArgument);
    EXPECT_TRUE(plan().problems.empty());
}

TEST_F(MarksTest, DamagedMarksAreKeptInTheOffer) {
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    for (const char* text : {"{", "[]", R"({"marks": [{}]})"}) {
        host_.write(std::string(marks_path), text);
        const auto marked = run(marking("GPU-0", "other").steps.at(0), false, "/staging/other");
        ASSERT_FALSE(marked) << text;
        EXPECT_NE(marked.error().message.find(marks_path), std::string::npos) << marked.error().message;
        EXPECT_FALSE(run(clearing().steps.at(0), false, "/staging/clear"));
        EXPECT_EQ(root_.read(marks_path).value_or(""), text);
        warnings_.clear();
        ASSERT_TRUE(run(publishing(), false, text));
        EXPECT_EQ(offered().marks.at(0).reason, "RMA");
        EXPECT_TRUE(std::any_of(warnings_.begin(), warnings_.end(), [](const std::string& warning) {
            return warning.find("keeps its present marks") != std::string::npos;
        }));
    }
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(MarksTest, MarkIsOfferedWithoutARecord) {
    ASSERT_TRUE(root_.remove("/run/gpuhost/devices.json"));
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    EXPECT_EQ(offered().marks.size(), 1U);
}

TEST_F(MarksTest, MarkCanBeClearedWhenNothingIsServed) {
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    set("Serve", "off");
    ASSERT_TRUE(run(publishing(), false, "off"));
    const core::Plan clear = clearing();
    ASSERT_TRUE(clear.problems.empty());
    ASSERT_TRUE(run(clear.steps.at(0), false, "/staging/clear"));
    EXPECT_FALSE(root_.exists(marks_path));
}

TEST_F(MarksTest, MarkOfAVanishedDeviceCanBeCleared) {
    ASSERT_TRUE(run(marking().steps.at(0), false, "/staging/mark"));
    std::filesystem::remove_all(host_.path("proc/driver/nvidia/gpus/0000:06:00.0"));
    add_gpu("0000:07:00.0", 1);
    ASSERT_TRUE(run(publishing(), false, "later"));
    EXPECT_TRUE(clearing().problems.empty());
    EXPECT_EQ(marking().problems.at(0).code, Errc::NotFound);
}

constexpr const char* two_replicas =
    "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: gpu, replicas: 2}]\n";

TEST_F(DevicesTest, ConfigFileSharesTheGpus) {
    load();
    host_.write("/etc/gpuhost/device-plugin.yaml", two_replicas);
    ASSERT_TRUE(run(publishing()));
    EXPECT_EQ(read_offer(root_)->sharing, Sharing());
    forget_failure();
    set("ConfigFile", "/etc/gpuhost/device-plugin.yaml");
    EXPECT_EQ(plan().reasons, Texts{"ConfigFile= or its file has changed"});
    ASSERT_TRUE(run(publishing()));
    EXPECT_EQ(read_offer(root_)->sharing, (Sharing{{{"nvidia.com/gpu", 2}}}));
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
    EXPECT_FALSE(plan().undecided);
}

TEST_F(DevicesTest, ListStrategyIsOffered) {
    load();
    ASSERT_TRUE(run(publishing()));
    EXPECT_EQ(read_offer(root_)->strategies, ListStrategies{ListStrategy::cdi_cri});
    forget_failure();
    set("DeviceListStrategy", "volume-mounts cdi-annotations volume-mounts");
    const ListStrategies both{ListStrategy::cdi_annotations, ListStrategy::volume_mounts};
    EXPECT_EQ(devices_settings_from_json(to_json(devices_settings(settings_))).strategies, both);
    EXPECT_EQ(plan().reasons, Texts{"DeviceListStrategy= has changed"});
    ASSERT_TRUE(run(publishing(), false, "changed"));
    EXPECT_EQ(read_offer(root_)->strategies, both);
    forget_failure();
    set("DeviceListStrategy", "cdi-annotations volume-mounts");
    EXPECT_TRUE(plan().steps.empty()) << "the order has no meaning";
}

TEST_F(DevicesTest, RecordOfAnEarlierVersionHasItsDefaults) {
    load();
    ASSERT_TRUE(run(publishing()));
    forget_failure();
    auto record = *read_offer_record(root_);
    for (const char* key : {"health", "labels", "taint_unhealthy", "device_list_strategy",
                            "device_id_strategy", "pass_device_specs", "config_file"})
        record.inputs.erase(key);
    ASSERT_TRUE(write_offer_record(root_, record));
    EXPECT_EQ(plan().reasons, Texts());
    record.inputs["gpuhost"] = "earlier";
    ASSERT_TRUE(write_offer_record(root_, record));
    EXPECT_EQ(plan().reasons, Texts{"another version of gpuhostd made the offer"});
    set("DeviceListStrategy", "envvar");
    EXPECT_EQ(plan().reasons,
              (Texts{"another version of gpuhostd made the offer", "DeviceListStrategy= has changed"}));
}

TEST_F(DevicesTest, IdsAndNodesAreOffered) {
    load();
    add_gpu("0000:07:00.0", 1);
    host_.write("/dev/nvidiactl", "");
    host_.write("/dev/nvidia-uvm", "");
    ASSERT_TRUE(run(publishing()));
    EXPECT_EQ(read_offer(root_)->nodes, std::nullopt);
    EXPECT_EQ(read_offer(root_)->gpus.at(1).index, 1U);
    forget_failure();
    set("DeviceIDStrategy", "index");
    set("PassDeviceSpecs", "yes");
    EXPECT_EQ(plan().reasons, (Texts{"DeviceIDStrategy= has changed", "PassDeviceSpecs= has changed"}));
    ASSERT_TRUE(run(publishing(), false, "changed"));
    EXPECT_EQ(read_offer(root_)->ids, IdStrategy::index);
    EXPECT_EQ(read_offer(root_)->nodes, std::nullopt) << "CDI gives the nodes";
    forget_failure();
    set("DeviceListStrategy", "envvar");
    ASSERT_TRUE(run(publishing(), false, "strategy"));
    EXPECT_EQ(read_offer(root_)->nodes, (Texts{"/dev/nvidiactl", "/dev/nvidia-uvm"}));
    forget_failure();
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(DevicesTest, UnknownListStrategyChangesNothing) {
    load();
    set("DeviceListStrategy", "cdi-cri envar");
    EXPECT_EQ(
        plan().undecided->text,
        "section [Devices]: DeviceListStrategy=cdi-cri envar has 'envar', which is not one of: cdi-cri, "
        "cdi-annotations, envvar, volume-mounts (did you mean 'envvar'?)");
    EXPECT_FALSE(run(publishing()));
    set("DeviceListStrategy", "");
    EXPECT_EQ(plan().undecided->text, "section [Devices]: DeviceListStrategy= is empty, and containers would "
                                      "get no GPU: use one of cdi-cri, "
                                      "cdi-annotations, envvar, volume-mounts");
}

/// A host with an offer that shares the GPUs, and ConfigFile= with a mistake since then.
class RefusedFileTest : public DevicesTest {
  protected:
    RefusedFileTest() {
        load();
        set("ConfigFile", file);
        host_.write(file, two_replicas);
        EXPECT_TRUE(run(publishing()));
        forget_failure();
        break_file();
    }
    void break_file() {
        host_.write(file, "version: v2\n");
        EXPECT_EQ(plan().steps.size(), 1U);
        EXPECT_TRUE(run(publishing(), false, "refused"));
        forget_failure();
    }
    void expect_mistake() const {
        const core::Plan planned = plan();
        ASSERT_TRUE(planned.undecided);
        EXPECT_EQ(planned.undecided->text, file + ":1: version must be v1");
        EXPECT_EQ(planned.undecided->code, Errc::BadContent);
    }
    void expect_warning(const std::string& text) const {
        EXPECT_NE(std::find(warnings_.begin(), warnings_.end(), text), warnings_.end()) << text;
    }

    const std::string file = "/etc/gpuhost/device-plugin.yaml";
    const Sharing shared{{{"nvidia.com/gpu", 2}}};
};

TEST_F(RefusedFileTest, PresentSharingIsKept) {
    expect_mistake();
    expect_warning("the GPUs keep their present sharing: " + file + ":1: version must be v1");
    EXPECT_EQ(read_offer(root_)->sharing, shared);
    EXPECT_TRUE(plan().steps.empty()) << "the file is not read again";
    ASSERT_TRUE(run(around().after.front(), false, "swap"));
    EXPECT_EQ(read_offer(root_)->sharing, shared) << "in a swap";
    forget_failure();
    host_.write(file, "version: v1\n");
    EXPECT_FALSE(plan().undecided);
    ASSERT_TRUE(run(plan().steps.at(0), false, "repaired"));
    EXPECT_EQ(read_offer(root_)->sharing, Sharing());
}

TEST_F(RefusedFileTest, OfferFollowsTheHost) {
    for (const std::string address : {"0000:07:00.0", "0000:08:00.0"}) {
        add_gpu(address, 1);
        EXPECT_EQ(plan().reasons, Texts{"the GPUs have changed"});
        expect_mistake();
        ASSERT_TRUE(run(plan().steps.at(0), false, address));
        forget_failure();
        std::filesystem::remove_all(host_.path("proc/driver/nvidia/gpus/" + address));
    }
    ASSERT_TRUE(run(plan().steps.at(0), false, "gone"));
    forget_failure();
    EXPECT_EQ(read_offer(root_)->gpus.size(), 1U);
    EXPECT_EQ(read_offer(root_)->sharing, shared);
    host_.write("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access", "");
    EXPECT_EQ(plan().reasons, Texts{"the MIG instances have changed"});
}

TEST_F(RefusedFileTest, OfferFollowsTheSettings) {
    set("IgnoreXids", "31");
    set("UnhealthyTaint", "yes");
    EXPECT_EQ(plan().reasons, (Texts{"IgnoreXids=, FatalXids= or marks of GPUs have changed",
                                     "UnhealthyTaint= has changed"}));
    expect_mistake();
    ASSERT_TRUE(run(plan().steps.at(0), false, "settings"));
    EXPECT_TRUE(read_offer(root_)->taint_unhealthy);
    EXPECT_EQ(read_offer(root_)->health.ignore_xids, std::vector<unsigned>{31});
    set("ResourceName", "example.org/gpu");
    EXPECT_FALSE(plan().undecided) << "a setting may have been the mistake";
    ASSERT_TRUE(run(plan().steps.at(0), false, "name"));
    EXPECT_EQ(read_offer(root_)->sharing, (Sharing{{{"example.org/gpu", 2}}})) << "not whole GPUs";
    expect_mistake();
}

TEST_F(RefusedFileTest, OtherPluginEndsTheOffer) {
    host_.write("/var/lib/kubelet/device-plugins/x", "");
    const Listener nvidia(host_.path("/var/lib/kubelet/device-plugins/nvidia-gpu.sock"));
    ASSERT_EQ(plan().steps.size(), 1U);
    EXPECT_NE(plan().undecided->text.find("nvidia-gpu.sock"), std::string::npos);
    ASSERT_TRUE(run(plan().steps.at(0), false, "other"));
    EXPECT_FALSE(root_.exists(offer_path));
}

TEST_F(RefusedFileTest, OfferEndsWithTheDriver) {
    ASSERT_TRUE(root_.remove("/sys/module/nvidia/version"));
    EXPECT_EQ(plan().reasons, Texts{"no driver is loaded"});
    expect_mistake();
    ASSERT_TRUE(run(plan().steps.at(0), false, "unload"));
    EXPECT_FALSE(root_.exists(offer_path));
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(RefusedFileTest, NothingIsOfferedAfterABoot) {
    std::filesystem::remove_all(host_.path("run"));
    EXPECT_EQ(plan().steps.size(), 1U);
    ASSERT_TRUE(run(plan().steps.at(0), false, "boot")) << "other components are not undone";
    EXPECT_FALSE(root_.exists(offer_path)) << "pods would get whole GPUs";
    expect_warning("the GPUs are not offered to the kubelet: " + file + ":1: version must be v1");
    EXPECT_TRUE(plan().steps.empty());
    expect_mistake();
    EXPECT_TRUE(plan(true).undecided);
    set("ConfigFile", file + ".missing");
    ASSERT_TRUE(run(plan().steps.at(0), false, "missing"));
    EXPECT_EQ(plan().undecided->text, file + ".missing: No such file or directory");
}

TEST_F(RefusedFileTest, MistakeIsFoundAgainAfterAnUndo) {
    ASSERT_TRUE(root_.remove("/run/gpuhost/devices-config.json"));
    EXPECT_EQ(plan().reasons, Texts{"ConfigFile= or its file has changed"});
    ASSERT_TRUE(run(publishing(), false, "later"));
    ASSERT_TRUE(run(publishing(), true, "later"));
    expect_mistake();
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(RefusedFileTest, UnreadableOfferIsRemoved) {
    host_.write(std::string(offer_path), "{");
    ASSERT_TRUE(run(plan().steps.at(0), false, "unreadable"));
    EXPECT_FALSE(root_.exists(offer_path));
    EXPECT_TRUE(plan().steps.empty());
}

TEST_F(DevicesTest, FileThatChangesMeanwhileIsReadAgain) {
    load();
    set("ConfigFile", "/a.yaml");
    host_.write("/a.yaml", std::string(two_replicas) + "flags: {gdsEnabled: true}\n");
    on_warning_ = [&] {
        if (warnings_.size() == 1)
            host_.write("/a.yaml", two_replicas);
    };
    ASSERT_TRUE(run(publishing()));
    EXPECT_EQ(warnings_.at(0), "/a.yaml:5: flags.gdsEnabled 'true' has no effect here, ignoring");
    forget_failure();
    EXPECT_EQ(plan().reasons, Texts{"ConfigFile= or its file has changed"});
}

TEST_F(DevicesTest, MistakesInTheConfigFileAreReported) {
    host_.write("/etc/gpuhost/a.yaml", "version: v1\nflags: {gdsEnabled: true}\n");
    set("ConfigFile", "/etc/gpuhost/a.yaml");
    const auto problems = config_file_problems(root_, settings_);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(core::to_string(problems[0]),
              "/etc/gpuhost/a.yaml:2: flags.gdsEnabled 'true' has no effect here, ignoring");
    set("ConfigFile", "a.yaml");
    EXPECT_NE(devices_settings(settings_).mistake.find("ConfigFile=a.yaml is not an absolute path"),
              std::string::npos);
    EXPECT_EQ(devices_settings_from_json(to_json(devices_settings(settings_))).config_file, "a.yaml");
    for (const std::string directory : {"/root", "/home", "/tmp", "/var/tmp", "/run/user"}) {
        set("ConfigFile", directory + "/0/a");
        EXPECT_NE(devices_settings(settings_).mistake.find("/root, /home, /tmp, /var/tmp or /run/user"),
                  std::string::npos)
            << directory;
    }
    set("ConfigFile", "/tmpfs/a");
    EXPECT_EQ(devices_settings(settings_).mistake, "");
}

} // namespace
} // namespace gpuhost::devices
