// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/doctor.hpp"
#include "daemon/ctl/doctor/view.hpp"
#include "kmod/module/headers.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

constexpr std::uint64_t now = 1'700'000'000; ///< seconds since 1970
constexpr std::uint64_t day = 86'400;
const std::string kernel = "6.1.0-50-amd64";
const std::string version = "550.163.01";

/// Returns the facts of a host without findings.
DoctorFacts healthy() {
    DoctorFacts facts;
    facts.host = {
        {"version", "1"}, {"state", "idle"}, {"operation", nullptr}, {"config_problems", Json::array()}};
    facts.host["components"]["devices"]["observed"] = {
        {"serve", true},
        {"running", true},
        {"offer", {{"id", "7"}, {"withdrawn", ""}}},
        {"answer",
         {{"id", "7"}, {"resources", {{{"name", "nvidia.com/gpu"}, {"devices", 1}, {"connected", true}}}}}}};
    facts.client_version = "1";
    facts.workers.emplace();
    facts.operation = {{"id", 7}, {"state", "committed"}, {"title", "swap"}};
    facts.failed_units.emplace();
    facts.kernel = kernel;
    facts.gpus = {{"0000:65:00.0", "0x2330", "nvidia"}};
    facts.served = {"0000:65:00.0"};
    facts.loaded = {{"nvidia", version, "", 0, {}, "live"}};
    facts.configured = version;
    kmod::DriverVersion driver;
    driver.version = version;
    driver.userland.push_back({"u", "/u", 1, 1, true, {"gsp_ga10x.bin"}, 0});
    driver.modules.push_back({kernel, "open", "m", "/m", {}, 0});
    facts.store.versions.push_back(driver);
    facts.store.selected[kernel] = {{version, "u", "m"}, std::nullopt};
    facts.enforcement = "module.sig_enforce is set";
    facts.selected_set = kmod::SetVerdict{version, "open", "m", true, {}, {}};
    facts.xid_lines = 0;
    facts.kernels = {{kernel, true, {}, true}};
    facts.rules = {{"/etc/modprobe.d/gpuhost.conf", "blacklist", "nouveau"},
                   {"/run/modprobe.d/00-gpuhost-block.conf", "install", "nvidia"}};
    facts.state_free = 10ULL << 30U;
    facts.boot_free = 1ULL << 30U;
    facts.now_us = now * 1'000'000;
    facts.newest_file_us = facts.now_us;
    facts.cdi = {{"files", {{{"path", "/run/cdi/nvidia.yaml"}, {"ours", true}}}}};
    facts.runtimes = {{"runtimes", {{{"name", "containerd"}, {"ok", true}}}}};
    facts.anchors = {{"/etc/gpuhost/trust.d/a.pem", now + 90 * day}};
    facts.joined = true;
    facts.identity = CertificateFile{"/var/lib/gpuhost/cluster/client.pem", now + 9 * day};
    facts.cluster = {{"node", "gpu01"}, {"server", "https://api"}};
    return facts;
}

Json result_of(const DoctorFacts& facts, std::string_view name) {
    const Json found = diagnose(facts);
    for (const Json& check : found.at("checks"))
        if (check.at("check") == name)
            return check;
    ADD_FAILURE() << "no check " << name;
    return {};
}

TEST(Doctor, HealthyHostPassesAllChecks) {
    const Json found = diagnose(healthy());
    EXPECT_EQ(found.at("result"), "ok");
    for (const Json& check : found.at("checks"))
        EXPECT_EQ(check.at("result"), "ok") << check;
}

struct Harm {
    const char* name;  ///< name of the test
    const char* check; ///< the only check that reports it
    const char* result;
    const char* text; ///< part of the check's text
    std::function<void(DoctorFacts&)> harm;
};
void PrintTo(const Harm& harm, std::ostream* out) {
    *out << harm.name;
}

class DoctorFinding : public testing::TestWithParam<Harm> {};

TEST_P(DoctorFinding, IsReportedByOneCheckWithNextStep) {
    DoctorFacts facts = healthy();
    GetParam().harm(facts);
    const Json found = diagnose(facts);
    EXPECT_EQ(found.at("result"), GetParam().result);
    for (const Json& check : found.at("checks")) {
        const bool is_it = check.at("check") == GetParam().check;
        EXPECT_EQ(check.at("result"), is_it ? GetParam().result : "ok") << check;
        EXPECT_EQ(check.at("next").get<std::string>().empty(), !is_it) << check;
        if (is_it) {
            EXPECT_NE(check.at("text").get<std::string>().find(GetParam().text), std::string::npos) << check;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, DoctorFinding,
    testing::Values(
        Harm{"OldDaemon", "version", "warning", "gpuhostd is 0", [](auto& f) { f.host["version"] = "0"; }},
        Harm{"FailedUnit", "units", "error", "gpuhost-scrub.service",
             [](auto& f) { f.failed_units = {"gpuhost-scrub.service"}; }},
        Harm{"MaskedUnit", "units", "warning", "gpuhost-cdi.path",
             [](auto& f) { f.masked_units = {"gpuhost-cdi.path"}; }},
        Harm{"WaitsForReboot", "operation", "error", "reboot",
             [](auto& f) { f.host["state"] = "reboot-required"; }},
        Harm{"Busy", "operation", "warning", "operation 7 is running: swap",
             [](auto& f) { f.host.update({{"state", "busy"}, {"operation", 7}}); }},
        Harm{"Degraded", "operation", "error", "does not match", [](auto& f) { f.host["state"] = "degraded"; }},
        Harm{"RolledBack", "operation", "warning", "rolled-back",
             [](auto& f) { f.operation["state"] = "rolled-back"; }},
        Harm{"HungWorker", "workers", "error", "gpuhost-worker-7-1-1.service",
             [](auto& f) { f.workers->push_back("gpuhost-worker-7-1-1.service"); }},
        Harm{"DriverInInitramfs", "initramfs", "error", "'/efi/b' has 'usr/lib/modules/k/nvidia.ko', which is loaded before the selected driver (and 1 more)",
             [](auto& f) {
                 f.kernels[0].images = {{"/boot/a", {"usr/lib/modules/k/nouveau.ko"}, "dracut"},
                                        {"/efi/b", {"usr/lib/modules/k/nvidia.ko"}, "kernel-install"}};
             }},
        Harm{"NouveauInInitramfs", "initramfs", "warning", "nouveau.ko",
             [](auto& f) { f.kernels[0].images = {{"/boot/a", {"usr/lib/modules/k/nouveau.ko"}, "dracut"}}; }},
        Harm{"BadSetting", "settings", "warning", "x.conf:2",
             [](auto& f) { f.host["config_problems"] = {"x.conf:2: what?"}; }},
        Harm{"UnservedGpu", "gpus", "error", "0000:65:00.0", [](auto& f) { f.served.clear(); }},
        Harm{"NoGpu", "gpus", "warning", "no NVIDIA GPU", [](auto& f) { f.gpus.clear(); }},
        Harm{"OtherDriverLoaded", "driver", "error", "loaded is 535.261.03, selected 550.163.01",
             [](auto& f) { f.loaded[0].version = "535.261.03"; }},
        Harm{"OtherDriverConfigured", "driver", "error", "configured is 560.1",
             [](auto& f) { f.configured = "560.1"; }},
        Harm{"DamagedSet", "store", "error", "can't be read",
             [](auto& f) { f.store.problems = {"/var/lib/gpuhost/driver/1/userland/u can't be read"}; }},
        Harm{"RefusedModules", "signatures", "error", "module 'nvidia' is not signed (and 1 more)",
             [](auto& f) {
                 f.selected_set->problems = {
                     {base::Errc::AccessDenied, "module 'nvidia' is not signed", "sign it"},
                     {base::Errc::AccessDenied, "module 'nvidia_uvm' is not signed", "sign it"}};
             }},
        Harm{"KeysUnreadable", "signatures", "warning", "/proc/keys can't be read",
             [](auto& f) { f.selected_set->warnings = {"/proc/keys can't be read"}; }},
        Harm{"NoDevices", "devices", "error", "nodes", [](auto& f) { f.devices_complete = false; }},
        Harm{"NoFirmwareLink", "firmware", "error", "/lib/firmware/nvidia/550.163.01",
             [](auto& f) { f.firmware_linked = false; }},
        Harm{"NoFirmware", "firmware", "error", "no firmware in the store",
             [](auto& f) { f.store.versions[0].userland[0].firmware.clear(); }},
        Harm{"Xid", "xid", "warning", "2 lines with Xid 79, 143 in",
             [](auto& f) {
                 f.xid_lines = 2;
                 f.xids = xids_of("NVRM: Xid (PCI:0000:65:00): 143, x (1): 2\nNVRM: Xid\nNVRM: Xid (a): b\n"
                                  "[ 9] NVRM: Xid (PCI:0000:66:00): 79, GPU has fallen off the bus.\n");
             }},
        Harm{"NouveauLoaded", "nouveau", "error", "is loaded", [](auto& f) { f.nouveau_loaded = true; }},
        Harm{"NouveauAtBoot", "nouveau", "warning", "6.1.0-50-amd64 would load it", [](auto& f) { f.rules.clear(); }},
        Harm{"InstallRule", "modprobe", "error", "'/etc/modprobe.d/x.conf' has 'install nvidia'",
             [](auto& f) { f.rules.push_back({"/etc/modprobe.d/x.conf", "install", "nvidia"}); }},
        Harm{"KernelToBuild", "kernels", "warning", "to be built for 6.12",
             [](auto& f) { f.kernels.push_back({"6.12", false, {}, false}); }},
        Harm{"KernelWithoutAnything", "kernels", "warning", "are missing and can't be built: 6.12",
             [](auto& f) { f.kernels.push_back({"6.12", false, {kmod::headers_not_found("6.12")}, false}); }},
        Harm{"RunningKernelWithoutAnything", "kernels", "error", "are missing and can't be built: 6.1.0",
             [](auto& f) { f.kernels[0] = {kernel, false, {kmod::headers_not_found(kernel)}, true}; }},
        Harm{"Shadow", "libraries", "error", "libcuda.so.535.1",
             [](auto& f) { f.shadows = {"/usr/lib/libcuda.so.535.1"}; }},
        Harm{"FullDisk", "space", "error", "1.0 MiB free", [](auto& f) { f.state_free = 1 << 20; }},
        Harm{"LittleSpace", "space", "warning", "500 MiB free", [](auto& f) { f.state_free = 500 << 20; }},
        Harm{"LittleSpaceInBoot", "space", "warning", "/boot", [](auto& f) { f.boot_free = 1 << 20; }},
        Harm{"ClockTooEarly", "clock", "error", "files of this host are from",
             [](auto& f) { f.newest_file_us = (now + 2 * day) * 1'000'000; }},
        Harm{"StaleCdi", "cdi", "error", "nvidia.yaml' of gpuhostd: /dev/nvidia0 is missing",
             [](auto& f) { f.cdi["files"][0]["stale"] = {"/dev/nvidia0 is missing"}; }},
        Harm{"BadCdi", "cdi", "error", "nvidia.yaml' of gpuhostd: x",
             [](auto& f) { f.cdi["files"][0]["problems"] = {"x"}; }},
        Harm{"BadCdiOfOthers", "cdi", "warning", "'/etc/cdi/b.json', which is not gpuhostd's: y",
             [](auto& f) {
                 f.cdi["files"].push_back({{"path", "/etc/cdi/b.json"}, {"ours", false}, {"stale", {"y"}}});
             }},
        Harm{"NoCdi", "cdi", "warning", "no CDI file", [](auto& f) { f.cdi["files"][0]["ours"] = false; }},
        Harm{"UnservedKubelet", "kubelet", "error", "the kubelet gets no GPU: gpuhost-devices does not run",
             [](auto& f) { f.host["components"]["devices"]["observed"]["running"] = false; }},
        Harm{"NoRuntimeOfNvidia", "kubelet", "warning",
             "DeviceListStrategy=envvar requires NVIDIA's runtime, which is not in: containerd",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["inputs"]["device_list_strategy"] = {"envvar"};
                 f.runtimes_without_nvidia = {"containerd"};
             }},
        Harm{"VolumeMountsNotAccepted", "kubelet", "warning",
             "DeviceListStrategy=volume-mounts has no effect: accept-nvidia-visible-devices-as-volume-mounts is "
             "false in /etc/nvidia-container-runtime/config.toml",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["inputs"]["device_list_strategy"] = {
                     "envvar", "volume-mounts"};
                 f.accepted_requests.emplace_back();
             }},
        Harm{"EnvvarNotAccepted", "kubelet", "warning",
             "DeviceListStrategy=envvar gives no GPU to unprivileged pods: "
             "accept-nvidia-visible-devices-envvar-when-unprivileged is false in /c.toml",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["inputs"]["device_list_strategy"] = {"envvar"};
                 f.accepted_requests = {{}, {"/c.toml", false, true, false}};
             }},
        Harm{"OptionsOfNvidiaUnusable", "kubelet", "warning",
             "NVIDIA's runtime can't use its options: /c.toml: line 1",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["inputs"]["device_list_strategy"] = {"envvar"};
                 f.accepted_unseen = "/c.toml: line 1";
             }},
        Harm{"OtherDevicePlugin", "kubelet", "error", "a process listens",
             [](auto& f) {
                 f.host["components"]["devices"]["plan"]["undecided"] = {{"text", "a process listens"},
                                                                         {"hint", "Remove it."}};
             }},
        Harm{"UnhealthyGpu", "health", "warning", "GPU-1 is unhealthy: Xid 79",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["answer"]["health"] = {
                     {{"uuid", "GPU-1"}, {"state", "unhealthy"}, {"recovery", "reboot"}, {"reason", "Xid 79"}},
                     {{"uuid", "GPU-2"}, {"state", "noted"}, {"recovery", "none"}, {"reason", "Xid 13"}}};
             }},
        Harm{"UndetectedErrors", "health", "warning",
             "health is unknown: the kernel's messages have ended",
             [](auto& f) {
                 f.host["components"]["devices"]["observed"]["answer"]["blind"] =
                     "the kernel's messages have ended";
             }},
        Harm{"UnconfiguredRuntime", "runtimes", "error", "containerd",
             [](auto& f) { f.runtimes["runtimes"][0]["ok"] = false; }},
        Harm{"RuntimesNotInspected", "runtimes", "warning", "have not been inspected yet",
             [](auto& f) {
                 f.host["components"]["runtime"]["plan"] = {
                     {"steps", {{{"kind", "runtime.configure"}}}},
                     {"reasons", {"container runtimes have not been inspected yet"}}};
             }},
        Harm{"RuntimesUnseen", "runtimes", "warning", "not allowed",
             [](auto& f) { f.runtimes = {{"message", "not allowed"}}; }},
        Harm{"AllAnchorsExpired", "trust", "error", "no authority is valid: 'b.pem' expired on",
             [](auto& f) { f.anchors = {{"b.pem", now - 1}, {"c.pem", now - 2}}; }},
        Harm{"OneAnchorExpired", "trust", "warning", "b.pem' expired on",
             [](auto& f) {
                 f.anchors.push_back({"c.pem", now + day});
                 f.anchors.push_back({"b.pem", now - 1});
             }},
        Harm{"AnchorExpiresSoon", "trust", "warning", "b.pem' expires on",
             [](auto& f) { f.anchors.push_back({"b.pem", now + 29 * day}); }},
        Harm{"InvalidAnchor", "trust", "error", "b.crl: no certificate",
             [](auto& f) { f.trust_error = base::Error{base::Errc::BadContent, "b.crl: no certificate", ""}; }},
        Harm{"ClusterNotRunning", "cluster", "error", "is not running", [](auto& f) { f.cluster = nullptr; }},
        Harm{"NoContact", "cluster", "error", "connection refused",
             [](auto& f) { f.cluster["error"] = {{"message", "connection refused"}, {"hint", ""}}; }},
        Harm{"CredentialsExpireSoon", "credentials", "warning", "expires on",
             [](auto& f) { f.identity->until = now + day; }}),
    [](const auto& tested) { return std::string(tested.param.name); });

/// Returns the checks whose result is not "ok", in their order.
std::vector<std::string> not_ok(const DoctorFacts& facts, std::string_view result) {
    std::vector<std::string> names;
    const Json found = diagnose(facts);
    EXPECT_EQ(found.at("result"), "ok");
    for (const Json& check : found.at("checks"))
        if (check.at("result") != "ok") {
            EXPECT_EQ(check.at("result"), result) << check;
            names.push_back(check.at("check").get<std::string>());
        }
    return names;
}

TEST(Doctor, OptionIsSetInItsFile) {
    DoctorFacts facts = healthy();
    Json& words = facts.host["components"]["devices"]["observed"]["inputs"]["device_list_strategy"];
    words = {"volume-mounts"};
    facts.accepted_requests = {{"/c.toml", true, false, true}};
    const std::string option = "accept-nvidia-visible-devices-as-volume-mounts";
    EXPECT_EQ(result_of(facts, "kubelet").at("next"),
              "add " + option +
                  "=true to Options= in section [Toolkit]; gpuhostctl reload; gpuhostctl apply");
    facts.accepted_requests = {{"/c.toml", true, false, false}};
    EXPECT_EQ(result_of(facts, "kubelet").at("next"), "set " + option + " = true in /c.toml");
    words = {"envvar"};
    EXPECT_EQ(result_of(facts, "kubelet").at("result"), "ok");
    facts.accepted_requests = {{"/c.toml", false, false, false}};
    words = {"cdi-cri", "envvar"};
    EXPECT_EQ(result_of(facts, "kubelet").at("result"), "ok") << "by CDI";
}

TEST(Doctor, EmptyStoreLeadsToUpgradeNotApply) {
    DoctorFacts facts = healthy();
    facts.host["state"] = "degraded";
    facts.gpus = {{"0000:65:00.0", "0x2330", "nouveau"}};
    facts.served.clear();
    facts.loaded.clear();
    facts.nouveau_loaded = true;
    for (const char* check : {"operation", "gpus", "nouveau"})
        EXPECT_NE(result_of(facts, check).at("next").get<std::string>().find("gpuhostctl apply"),
                  std::string::npos)
            << "a driver is chosen";
    facts.configured.clear();
    facts.store = {};
    for (const char* check : {"operation", "gpus", "nouveau"})
        EXPECT_EQ(result_of(facts, check)
                      .at("next")
                      .get<std::string>()
                      .find("Bring one in: gpuhostctl upgrade FILE…"),
                  0U)
            << result_of(facts, check);
}

using Names = std::vector<std::string>;

/// Returns healthy() with a driver that gpuhostd does not manage.
DoctorFacts healthy_of(kmod::DriverOwner owner) {
    DoctorFacts facts = healthy();
    facts.owner = owner;
    facts.configured.clear();
    facts.store.selected.clear();
    facts.selected_set.reset();
    facts.rules.clear();
    facts.kernels[0].has_modules = false;
    facts.shadows = {"/usr/lib64/libcuda.so.550.163.01"};
    return facts;
}

TEST(Doctor, PreinstalledDriverSkipsChecksOfManagedDrivers) {
    const DoctorFacts facts = healthy_of(kmod::DriverOwner::Preinstalled);
    EXPECT_EQ(not_ok(facts, "skipped"), (Names{"signatures", "devices", "firmware", "nouveau", "initramfs",
                                               "modprobe", "kernels", "libraries"}));
    EXPECT_NE(result_of(facts, "kernels").at("text").get<std::string>().find("Version=preinstalled"),
              std::string::npos);
    EXPECT_EQ(result_of(facts, "driver").at("text"), "driver " + version + " is preinstalled and loaded");
}

TEST(Doctor, PreinstalledDriverMustServeTheGpus) {
    DoctorFacts facts = healthy_of(kmod::DriverOwner::Preinstalled);
    facts.gpus[0].driver.clear();
    EXPECT_EQ(result_of(facts, "driver").at("text"), "driver " + version + " does not drive 0000:65:00.0");
    facts.loaded.clear();
    facts.served.clear();
    EXPECT_EQ(result_of(facts, "driver").at("result"), "error");
    EXPECT_EQ(result_of(facts, "gpus").at("next"), "modprobe nvidia; journalctl -k");
}

TEST(Doctor, UnservedGpuIsAWarningWithKernelsMessage) {
    DoctorFacts facts = healthy();
    facts.gpus.push_back({"0000:66:00.0", "0x2330", ""});
    facts.gpu_log["0000:66:00.0"] = "nvidia: probe of 0000:66:00.0 failed with error -1";
    EXPECT_EQ(result_of(facts, "gpus").at("result"), "warning");
    EXPECT_EQ(
        result_of(facts, "gpus").at("text"),
        "1 GPU is served; not served: 0000:66:00.0 (nvidia: probe of 0000:66:00.0 failed with error -1)");
}

TEST(Doctor, DriversLogLinePrecedesTheKernels) {
    const std::string own = "NVRM: GPU 0000:66:00.0: RmInitAdapter failed! (0x22:0x56:762)";
    const std::string probe = "nvidia: probe of 0000:66:00.0 failed with error -1";
    const std::string bus = "pci 0000:66:00.0: [10de:2330] type 00 class 0x030200";
    EXPECT_EQ(log_line_on(bus + "\n" + own + "\n" + probe + "\n", "0000:66:00.0"), own);
    EXPECT_EQ(log_line_on(bus + "\n" + probe + "\n", "0000:66:00.0"), probe);
    EXPECT_EQ(log_line_on(bus + "\n", "0000:66:00.0"), "");
    EXPECT_EQ(log_line_on(own + "\n", "0000:65:00.0"), "");
}

TEST(Doctor, UnselectedRunningDriverIsAWarning) {
    const DoctorFacts facts = healthy_of(kmod::DriverOwner::Gpuhost);
    const auto found = result_of(facts, "driver");
    EXPECT_EQ(found.at("text"), "driver " + version + " is loaded, but gpuhostd has not selected it");
    EXPECT_EQ(found.at("result"), "warning");
    EXPECT_NE(found.at("next").get<std::string>().find("Version=preinstalled"), std::string::npos);
}

TEST(Doctor, DisabledDriverSkipsItsChecks) {
    DoctorFacts facts = healthy_of(kmod::DriverOwner::Nobody);
    facts.loaded.clear();
    facts.served.clear();
    facts.nouveau_loaded = true;
    EXPECT_EQ(not_ok(facts, "skipped"), (Names{"gpus", "driver", "signatures", "devices", "firmware",
                                               "nouveau", "initramfs", "modprobe", "kernels", "libraries"}));
}

TEST(Doctor, HostWithoutGpuHasNoFindings) {
    DoctorFacts facts = healthy_of(kmod::DriverOwner::Gpuhost);
    facts.gpus.clear();
    facts.served.clear();
    facts.loaded.clear();
    facts.cdi = {{"files", Json::array()}};
    EXPECT_EQ(not_ok(facts, "skipped"), (Names{"gpus", "driver", "signatures", "devices", "firmware",
                                               "nouveau", "initramfs", "modprobe", "kernels", "libraries"}));
}

TEST(Doctor, UnreadableFactsAreSkippedNotOk) {
    DoctorFacts facts = healthy();
    facts.xid_lines.reset();
    facts.xid_unseen = "journalctl did not end";
    facts.signatures_unseen = "no release";
    facts.initramfs_unseen = "permission denied";
    facts.workers.reset();
    facts.trust_error = base::Error{base::Errc::AccessDenied, "not for you", ""};
    EXPECT_EQ(not_ok(facts, "skipped"), (Names{"workers", "signatures", "xid", "initramfs", "trust"}));
    EXPECT_EQ(result_of(facts, "xid").at("text"), "not known: journalctl did not end");
}

TEST(Doctor, UnmanagedInitramfsIsSkipped) {
    DoctorFacts facts = healthy();
    facts.kernels[0].images = {{"/boot/a", {"lib/modules/k/nvidia.ko"}, "dracut"}};
    facts.clear_initramfs = false;
    EXPECT_EQ(result_of(facts, "initramfs").at("result"), "skipped");
}

TEST(Doctor, WorkerWithoutDaemonIsNotAnError) {
    DoctorFacts facts = healthy();
    facts.workers->push_back("gpuhost-worker-7-1-1.service");
    facts.host = nullptr;
    EXPECT_EQ(result_of(facts, "workers").at("result"), "skipped");
    facts = healthy();
    facts.workers->push_back("gpuhost-worker-7-1-1.service");
    facts.host["operation"] = 7;
    EXPECT_EQ(result_of(facts, "workers").at("result"), "ok");
}

TEST(Doctor, KubeletIsSkippedWithServeOff) {
    DoctorFacts facts = healthy();
    facts.host["components"]["devices"]["observed"] = {{"serve", false}, {"exists", false}};
    EXPECT_EQ(result_of(facts, "kubelet").at("result"), "skipped");
    facts.host = nullptr;
    EXPECT_EQ(result_of(facts, "kubelet").at("text"), "gpuhostd does not answer");
}

TEST(Doctor, OwnCdiFilesPrecedeOthers) {
    DoctorFacts facts = healthy();
    facts.cdi["files"] = {{{"path", "/etc/cdi/a.json"}, {"problems", {"unreadable"}}},
                          {{"path", "/run/cdi/nvidia.yaml"}, {"ours", true}, {"stale", {"old"}}}};
    EXPECT_EQ(result_of(facts, "cdi").at("result"), "error");
    facts.cdi["files"].erase(1);
    facts.cdi_enabled = false;
    EXPECT_EQ(result_of(facts, "cdi").at("result"), "warning");
    facts.cdi["files"].clear();
    EXPECT_EQ(result_of(facts, "cdi").at("result"), "ok") << "CDI is disabled";
}

TEST(Doctor, MissingMemoryLimitsAreNamedFromDriver615) {
    DoctorFacts facts = healthy();
    const auto text = [&] { return result_of(facts, "cdi").at("text").get<std::string>(); };
    EXPECT_EQ(text().find("memory limits"), std::string::npos);
    facts.loaded[0].version = "615.36.09";
    EXPECT_NE(text().find("set no CUDA memory limits"), std::string::npos) << text();
}

TEST(Doctor, WithoutDaemonOtherChecksStillRun) {
    DoctorFacts facts = healthy();
    facts.host = nullptr;
    facts.silence = "it is not running";
    EXPECT_EQ(result_of(facts, "daemon").at("result"), "error");
    for (const char* name : {"version", "operation", "settings"})
        EXPECT_EQ(result_of(facts, name).at("result"), "skipped") << name;
    EXPECT_EQ(result_of(facts, "gpus").at("result"), "ok");
}

TEST(Doctor, MountedSystemSkipsRuntimeChecks) {
    DoctorFacts facts = healthy();
    facts.is_host = false;
    facts.host = nullptr;
    facts.failed_units.reset();
    facts.loaded.clear();
    facts.served.clear();
    EXPECT_EQ(diagnose(facts).at("result"), "ok");
    EXPECT_EQ(result_of(facts, "driver").at("text"), "selected is " + version);
    EXPECT_EQ(result_of(facts, "gpus").at("result"), "skipped");
}

TEST(Doctor, CheckNamesAreUnique) {
    std::vector<std::string_view> names;
    for (const Check& check : doctor_checks())
        names.push_back(check.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(DoctorView, ErrorsAreFirstAndSkippedOnesHidden) {
    const Json found{
        {"result", "error"},
        {"checks",
         {{{"check", "xid"}, {"result", "skipped"}, {"text", "no log"}, {"next", ""}},
          {{"check", "daemon"}, {"result", "ok"}, {"text", "it answers"}, {"next", ""}},
          {{"check", "clock"}, {"result", "warning"}, {"text", "not synchronized"}, {"next", ""}},
          {{"check", "gpus"}, {"result", "error"}, {"text", "one is not served"}, {"next", "apply"}}}}};
    const std::string worst = "error    gpus    one is not served\n"
                              "                 Next: apply\n"
                              "warning  clock   not synchronized\n"
                              "ok       daemon  it answers\n";
    EXPECT_EQ(render_diagnosis({}, found, false),
              worst + "\n1 error, 1 warning\n1 check skipped (show them: gpuhostctl doctor --all)\n");
    EXPECT_EQ(render_diagnosis({}, found, true), worst + "skipped  xid     no log\n\n1 error, 1 warning\n");
    Screen screen;
    screen.legend = false;
    EXPECT_EQ(render_diagnosis(screen, found, false), worst);
}

} // namespace
} // namespace gpuhost::ctl
