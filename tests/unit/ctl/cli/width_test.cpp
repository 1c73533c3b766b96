// SPDX-License-Identifier: Apache-2.0
// Each view fits the terminal, with texts that are longer than it.
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cdi/view.hpp"
#include "daemon/ctl/cli/help.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "daemon/ctl/cluster/view.hpp"
#include "daemon/ctl/doctor/view.hpp"
#include "daemon/ctl/driver/view_installed.hpp"
#include "daemon/ctl/fleet/view.hpp"
#include "daemon/ctl/host/verdict.hpp"
#include "daemon/ctl/runtime/view.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"
#include "daemon/ctl/secure_boot/view.hpp"
#include "daemon/ctl/toolkit/view.hpp"
#include "tests/unit/ctl/documents.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

const std::string text =
    "the modules of driver 550.163.01 for kernel 6.1.0-50-amd64 are not in the store, so this host would "
    "boot "
    "without a driver; import them, or build them: gpuhostctl driver build 550.163.01, which takes a minute";
const std::string version = "550.163.01";
const std::string kernel = "6.1.0-50-cloud-amd64";
const std::string digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const std::string image = "registry.site.example:5000/nvidia/k8s/container-toolkit:v1.17.4-ubuntu20.04";
const Json problem{
    {"text", text}, {"hint", "Build them: gpuhostctl driver build 550.163.01. " + text}, {"code", "refused"}};
const Json problems = Json::array({problem, {{"text", text}}});
const Json texts = Json::array({text, text});

Json plan() {
    return {{"kind", "driver.swap"}, {"title", text},
            {"reasons", texts},      {"warnings", texts},
            {"upgrade", version},    {"undecided", problem},
            {"problems", problems},  {"steps", {{{"summary", text}}, {{"summary", text}}}}};
}

Json operation(const char* state) {
    Json document = swap_operation(state, {"done", "failed", "pending"});
    document["title"] = text;
    document["error"] = error_document("failed", text, text);
    for (Json& step : document["steps"])
        step["summary"] = text;
    document["outputs"] = {{{"warnings", texts}, {"name", "site"}, {"written_blobs", 7}, {"signer", text}}};
    return document;
}

std::string operation_with_problems(const Screen& screen) {
    Json document = operation("refused");
    document["problems"] = problems;
    return render_operation(screen, document, 0) + render_failure(screen, document, version);
}

std::string operations(const Screen& screen) {
    client::OperationRow row;
    row.id = 1234;
    row.kind = "driver.swap";
    row.state = "reboot-required";
    row.title = text;
    row.began_us = 1'000'000'000;
    row.ended_us = 2'000'000'000;
    return render_operations(screen, {row, row}, 1'000'000'000'000);
}

Json drivers() {
    const Json set{{"kernel", kernel},
                   {"flavour", "proprietary"},
                   {"digest", "a"},
                   {"path", text},
                   {"modules", {{{"name", "nvidia-uvm"}, {"signer", text}}}}};
    return {{"kernel", kernel},
            {"selected",
             {{kernel,
               {{"version", version},
                {"modules", "a"},
                {"previous", {{"version", version}, {"modules", "a"}}}}}}},
            {"versions",
             {{{"version", version},
               {"userland", {{{"bytes", 1U << 30U}, {"path", text}}}},
               {"modules", {set, set}}}}}};
}

std::string driver(const Screen& screen) {
    return render_drivers(screen, drivers(), version) +
           render_driver(screen, drivers(), drivers()["versions"][0], version);
}

std::string history(const Screen& screen) {
    const Json change{{"operation", 1234},
                      {"began_us", 1'700'000'000'000'000},
                      {"ended_us", 1'700'000'123'000'000},
                      {"from", version},
                      {"to", version},
                      {"kernel", kernel},
                      {"state", "reboot-required"},
                      {"cause", text},
                      {"subject", {{"origin", "user"}, {"user", "root"}, {"login_user", "administrator"}}}};
    return render_history(screen, {{"changes", {change, change}}}, 1'800'000'000'000'000);
}

std::string bundles(const Screen& screen) {
    const Json good{{"name", "a-bundle-of-the-site"},
                    {"generation", 12},
                    {"images", 40},
                    {"packages", {{{"distribution", "debian-12"}}, {{"distribution", "ubuntu-24.04"}}}},
                    {"files", {{{"name", "values-of-the-operator"}}, {{"name", "charts"}}}},
                    {"bytes", 123456789},
                    {"signer", {{"subject", "CN=The bundles of the site, O=Example Company"}}}};
    return render_bundles(screen, {{"bundles", {good, {{"name", "b"}, {"problem", text}}}}});
}

std::string bundle(const Screen& screen) {
    return render_bundle(screen, {{"name", "site"},
                                  {"generation", 3},
                                  {"signer", {{"subject", text}}},
                                  {"host", {{"problem", text}, {"refused", text}}},
                                  {"artifacts",
                                   {{{"kind", "driver-packages"},
                                     {"name", version},
                                     {"kernel", kernel},
                                     {"bytes", 9},
                                     {"problem", text}}}},
                                  {"images",
                                   {{{"name", image},
                                     {"platforms", {"linux/amd64", "linux/arm64"}},
                                     {"bytes", 9},
                                     {"problem", text},
                                     {"digest", digest}}}}});
}

std::string images(const Screen& screen) {
    const Json one{{"name", image},
                   {"platforms", {"linux/amd64", "linux/arm64"}},
                   {"bundle", "a-bundle-of-the-site"},
                   {"digest", digest},
                   {"state", "failed"},
                   {"runtime", "containerd"},
                   {"why", text},
                   {"missing", 2}};
    const Json list{
        {"images", {one, one}}, {"problems", texts}, {"absent", {image}}, {"runtimes", {"containerd"}}};
    return render_images(screen, list) + render_image(screen, one) + render_placement(screen, list);
}

std::string status(const Screen& screen) {
    const Json driver{
        {"observed", {{"loaded_version", version}, {"loaded", {{{"name", "nvidia"}}}}, {"units", texts}}},
        {"plan", plan()}};
    const Json host{{"state", "degraded"},
                    {"ready", false},
                    {"kernel", kernel},
                    {"config_problems", texts},
                    {"cluster", {{"desired", {{"driver", version}}}}},
                    {"components", {{"driver", driver}, {"cdi", {{"error", {{"message", text}}}}}}}};
    return render_status(screen, host, operation("rolled-back"), 0) +
           render_verdict(screen, {false, text, text});
}

std::string diagnosis(const Screen& screen) {
    Json checks = Json::array();
    for (const char* result : {"skipped", "ok", "warning", "error"})
        checks.push_back(
            {{"check", "container-runtimes"}, {"result", result}, {"text", text}, {"next", text}});
    return render_diagnosis(screen, {{"checks", checks}}, true);
}

std::string secure_boot(const Screen& screen) {
    const Json set{{"version", version}, {"flavour", "open"}, {"problems", problems}, {"warnings", texts}};
    return render_secure_boot(screen, {{"enforcement", text},
                                       {"certificate_error", text},
                                       {"sets", {set}},
                                       {"kernel", kernel},
                                       {"keys",
                                        {{{"name", text},
                                          {"keyrings", {".builtin_trusted_keys", ".secondary_trusted_keys"}},
                                          {"id", "0123456789abcdef0123"}}}}}) +
           render_enrolment(screen, {{"kernel", "unknown"},
                                     {"certificate", "/etc/gpuhost/site.pem"},
                                     {"der", "/etc/gpuhost/site.der"},
                                     {"name", text},
                                     {"created", true},
                                     {"key", "/etc/gpuhost/site.key"}});
}

std::string runtimes(const Screen& screen) {
    const Json one{{"name", "containerd"},
                   {"kind", "containerd"},
                   {"version", "1.7.27"},
                   {"running", true},
                   {"cdi", "on"},
                   {"config", "/etc/containerd/config.toml"},
                   {"verdict", text},
                   {"problems", texts},
                   {"text", text},
                   {"outcome", "refused"},
                   {"reasons", texts},
                   {"problem", {{"message", text}, {"hint", text}}},
                   {"restart", "unit"},
                   {"restart_text", text},
                   {"checks", {{{"ok", false}, {"name", "cdi"}, {"text", text}}}}};
    const Json list{{"runtimes", {one, one}}};
    return render_runtimes(screen, list) + render_runtime(screen, one) + render_runtime_plan(screen, list) +
           render_runtime_checks(screen, list);
}

std::string cdi(const Screen& screen) {
    const Json device{{"name", "nvidia.com/gpu=GPU-01234567-89ab-cdef-0123-456789abcdef"},
                      {"file", "/var/run/cdi/gpuhost-nvidia.json"},
                      {"driver", version},
                      {"state", "conflict"},
                      {"other", "/etc/cdi/nvidia.yaml"},
                      {"stale", texts}};
    const Json list{{"devices", {device, device}},
                    {"files", {{{"path", "/etc/cdi/nvidia.yaml"}, {"problems", texts}, {"stale", texts}}}}};
    return render_cdi_devices(screen, list) + render_cdi_device(screen, device) +
           render_cdi_files(screen, list);
}

std::string toolkits(const Screen& screen) {
    const Json one{{"version", "1.17.4"},
                   {"files", 30},
                   {"bytes", 9},
                   {"selected", true},
                   {"packages", texts},
                   {"problem", text},
                   {"config",
                    {{"path", "/etc/nvidia-container-runtime/config.toml"},
                     {"state", "other"},
                     {"differences", texts},
                     {"problems", texts}}}};
    return render_toolkits(screen, {{"toolkits", {one}}, {"problems", texts}}) + render_toolkit(screen, one);
}

std::string cluster(const Screen& screen) {
    const Json field{{"path", "spec.driver.upgradePolicy.drain.podSelector"},
                     {"value", text},
                     {"source", "/etc/gpuhost/gpuhost-policy.yaml"},
                     {"reason", text}};
    return render_cluster(
               screen, {{"server", "https://api.site.example:6443"},
                        {"error", {{"message", text}, {"hint", text}}},
                        {"taints", texts},
                        {"conditions", {{{"type", "DriverReady"}, {"status", "False"}, {"message", text}}}},
                        {"upgrade", {{"state", "upgrade-failed"}, {"reason", text}}}}) +
           render_cluster_policy(screen,
                                 {{"problems", texts}, {"fields", {field, field}}, {"ignored", {field}}});
}

std::string fleet(const Screen& screen) {
    const Json node{{"name", "a-very-long-name-of-a-node.rack-12.site.example"},
                    {"pool", "h100"},
                    {"state", "upgrade-failed"},
                    {"phase", "failed"},
                    {"version", "535.261.03"},
                    {"since", 1000},
                    {"reason", text}};
    FleetView view;
    view.now = 2000;
    view.problem = text;
    return render_fleet(
        screen,
        {{"server", "https://api.site.example:6443"},
         {"nodes", {node}},
         {"policy_problems", texts},
         {"pools", {{{"name", "h100"}, {"hosts", 9}, {"pending", 3}, {"wait_reason", text}}}}},
        view);
}

std::string installed(const Screen& screen) {
    kmod::InstalledDriver driver;
    driver.version = version;
    driver.kernel = kernel;
    driver.disturbers = {text, text};
    driver.rules = {"/etc/modprobe.d/nvidia-of-the-site.conf"};
    driver.units = {"/usr/lib/systemd/system/nvidia-persistenced.service"};
    Owners owners;
    owners.manager = "dpkg";
    for (int i = 0; i < 20; ++i)
        owners.packages.insert("libnvidia-package-" + std::to_string(i));
    const auto root = base::Root::open("/");
    return render_installed(screen, driver, owners) + render_takeover(screen, driver, Owners{}, *root, false);
}

std::string help(const Screen& screen) {
    std::string all = short_help(screen) + full_help(screen) + noun_help(screen, "driver");
    for (const Verb* verb : verbs())
        all += verb_help(screen, *verb);
    return all;
}

struct View {
    const char* name;
    std::function<std::string(const Screen&)> render;
};

const View views[] = {
    {"plan", [](const Screen& s) { return render_plan(s, plan()); }},
    {"refusal", [](const Screen& s) { return render_refusal(s, plan()); }},
    {"nothing to do",
     [](const Screen& s) {
         return render_plan(s, {{"reasons", texts}, {"undecided", problem}});
     }},
    {"operation", operation_with_problems},
    {"operations", operations},
    {"success", [](const Screen& s) { return render_success(s, operation("committed"), kernel); }},
    {"failure", [](const Screen& s) { return render_failure(s, operation("rolled-back"), version); }},
    {"driver", driver},
    {"history", history},
    {"bundles", bundles},
    {"bundle", bundle},
    {"images", images},
    {"status", status},
    {"doctor", diagnosis},
    {"secure boot", secure_boot},
    {"runtimes", runtimes},
    {"cdi", cdi},
    {"toolkits", toolkits},
    {"cluster", cluster},
    {"fleet", fleet},
    {"installed driver", installed},
    {"error",
     [](const Screen& s) {
         return render_error(s, {base::Errc::Refused, text, text});
     }},
    {"note", [](const Screen& s) { return fit(s, text + "\n  " + text + "\n"); }},
    {"help", help},
};

/// Returns the first line that is too wide although it could be broken; "" if there is none.
std::string too_wide(const std::string& rendered, std::size_t columns) {
    constexpr std::size_t lead = 24; // a label or an indent before a command
    for (const std::string& line : base::split(rendered, '\n'))
        if (visible_width(line) > columns && unbroken_width(line) + lead <= columns)
            return line;
    return "";
}

TEST(Width, EachViewFitsTheTerminal) {
    for (const View& view : views)
        for (const std::size_t columns : {80U, 120U})
            for (const bool colour : {false, true}) {
                const Screen screen{true, colour, columns, 24};
                EXPECT_EQ(too_wide(view.render(screen), columns), "") << view.name << " at " << columns;
            }
}

/// Lists and hints with the content of a usual host.
const View usual_views[] = {
    {"hint of the kernel's log",
     [](const Screen& s) {
         Json failed = operation("rolled-back");
         failed["error"]["hint"] =
             "See the kernel's log: journalctl -k --until @1795877840 -g 'NVRM|nvidia'.";
         const std::string rendered = render_failure(s, failed, version);
         return rendered.substr(rendered.find("Hint:"));
     }},
    {"operations",
     [](const Screen& s) {
         client::OperationRow row;
         row.id = 1234;
         row.state = "rolled-back";
         row.title = "swap driver 535.261.03 → 550.163.01";
         row.began_us = 1'700'000'000'000'000;
         row.ended_us = row.began_us + 83'000'000;
         return render_operations(s, {row}, row.began_us + 86'340'000'000);
     }},
    {"drivers",
     [](const Screen& s) {
         Json list = drivers();
         list["versions"][0]["modules"].erase(1);
         return render_drivers(s, list, version);
     }},
    {"history",
     [](const Screen& s) {
         const Json change{{"operation", 123},
                           {"began_us", 1'700'000'000'000'000},
                           {"ended_us", 1'700'000'083'000'000},
                           {"from", "535.261.03"},
                           {"to", version},
                           {"kernel", kernel},
                           {"state", "rolled-back"},
                           {"cause", "loading 'nvidia': the driver could not start any GPU"},
                           {"subject", {{"origin", "user"}, {"user", "root"}, {"login_user", "alice"}}}};
         const std::string rendered = render_history(s, {{"changes", {change}}}, 1'800'000'000'000'000);
         EXPECT_NE(rendered.find("\n    loading"), std::string::npos) << "the cause is below its row";
         return rendered.substr(0, rendered.find("\n    loading") + 1);
     }},
    {"bundles",
     [](const Screen& s) {
         return render_bundles(
             s, {{"bundles",
                  {{{"name", "gpu-site"},
                    {"generation", 12},
                    {"images", 40},
                    {"packages", {{{"distribution", "debian-12"}}, {{"distribution", "ubuntu-24.04"}}}},
                    {"files", {{{"name", "values-of-the-operator"}}, {{"name", "charts"}}}},
                    {"bytes", 12345678901},
                    {"signer", {{"subject", "CN=The bundles of the site"}}}}}}});
     }},
    {"images",
     [](const Screen& s) {
         const Json one{{"name", "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v24.9.2"},
                        {"platforms", {"linux/amd64", "linux/arm64"}},
                        {"bundle", "gpu-site"},
                        {"digest", digest},
                        {"bytes", 1234567890},
                        {"selected", true},
                        {"state", "present"},
                        {"runtime", "containerd"},
                        {"missing_bytes", 1234567890}};
         const std::string of_bundle = render_bundle(s, {{"name", "gpu-site"}, {"images", {one}}});
         return render_images(s, {{"images", {one}}}) +
                render_placement(s, {{"images", {one}}, {"runtimes", {"containerd"}}}) +
                of_bundle.substr(of_bundle.find("IMAGE"));
     }},
    {"devices",
     [](const Screen& s) {
         return render_cdi_devices(s, {{"devices",
                                        {{{"name", "nvidia.com/gpu=GPU-01234567-89ab-cdef-0123-456789abcdef"},
                                          {"file", "/var/run/cdi/gpuhost-nvidia.json"},
                                          {"driver", version},
                                          {"state", "valid"}}}}});
     }},
};

TEST(Width, UsualViewsHaveOneLinePerRow) {
    for (const View& view : usual_views)
        for (const std::size_t columns : {80U, 120U}) {
            const Screen screen{true, false, columns, 24};
            const std::string rendered = view.render(screen);
            EXPECT_EQ(rendered.find("\n "), std::string::npos) << rendered;
            for (const std::string& line : base::split(rendered, '\n'))
                EXPECT_LE(visible_width(line), columns) << line;
        }
}

TEST(Width, OffTerminalNoTextIsBroken) {
    for (const View& view : views)
        if (std::string_view(view.name) != "help") {
            EXPECT_NE(too_wide(view.render({}), 80), "") << view.name;
        }
}

} // namespace
} // namespace gpuhost::ctl
