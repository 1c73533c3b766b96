// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/plan/driver_choice.hpp"
#include "kmod/plan/driver_plan.hpp"

#include <functional>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;

const std::string kernel = "6.1.0-50-amd64";

ModuleSet module_set(const std::string& version) {
    ModuleSet set;
    set.kernel = kernel;
    set.flavour = "open";
    set.digest = "m" + version;
    set.path = "/var/lib/gpuhost/driver/" + version + "/modules/" + kernel + "-open/m";
    for (const std::string name :
         {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem"}) {
        ModuleFile file;
        file.name = name;
        file.file = name + ".ko";
        file.version = version;
        file.srcversion = version + name;
        if (name != "nvidia")
            file.depends = {name == "nvidia_drm" ? "nvidia-modeset" : "nvidia"};
        set.modules.push_back(file);
    }
    return set;
}

DriverVersion driver_version(const std::string& version) {
    DriverVersion driver;
    driver.version = version;
    driver.modules.push_back(module_set(version));
    driver.userland.push_back(
        {"u" + version, "/var/lib/gpuhost/driver/" + version + "/userland/u", 3, 4, true, {}, 0});
    return driver;
}

Generation generation(const std::string& version) {
    return {version, "u" + version, "m" + version};
}

/// Returns a host that runs 535 and has 550 in the store.
Observed serving_535() {
    Observed observed;
    observed.kernel = kernel;
    observed.gpus = {{"0000:65:00.0", "0x2330", "nvidia"}};
    observed.loaded_version = "535.261.03";
    for (const std::string name : {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"}) {
        LoadedModule module;
        module.name = name;
        module.version = "535.261.03";
        module.srcversion = "535.261.03" + name;
        module.state = "live";
        observed.loaded.push_back(module);
    }
    observed.loaded[0].holders = {"nvidia_uvm", "nvidia_modeset", "nvidia_drm"};
    observed.store.versions = {driver_version("550.163.01"), driver_version("535.261.03")};
    observed.store.selected[kernel] = {generation("535.261.03"), generation("550.163.01")};
    observed.units = {"nvidia-persistenced.service"};
    observed.options = modprobe_options({});
    return observed;
}

Observed fresh_host() {
    Observed observed = serving_535();
    observed.loaded.clear();
    observed.loaded_version.clear();
    observed.store.selected.clear();
    observed.units.clear();
    observed.options.clear();
    return observed;
}

Json swap(const std::string& version) {
    return {{"driver", {{"request", "swap"}, {"version", version}}}};
}

std::string kinds(const core::Plan& plan) {
    std::vector<std::string> names;
    for (const core::Step& step : plan.steps)
        names.push_back(step.kind);
    return base::join(names, " ");
}

const std::string whole_swap =
    "driver.prepare autoload.block units.stop holders.clear driver.devices modules.converge units.quiesce "
    "driver.select driver.devices driver.validate autoload.unblock units.start";

struct PlanCase {
    const char* name;
    std::function<void(Observed&, core::Settings&)> change;
    Json request;
    std::string steps;
    std::vector<Errc> problems;
    bool fresh = false;
};

class DriverPlan : public testing::TestWithParam<PlanCase> {};

TEST_P(DriverPlan, PlanHasTheExpectedSteps) {
    const PlanCase& param = GetParam();
    core::Settings settings({driver_setting_keys()});
    Observed observed = param.fresh ? fresh_host() : serving_535();
    if (param.change)
        param.change(observed, settings);
    const core::Plan plan = driver_plan({settings, param.request}, observed);
    if (param.problems.empty()) {
        EXPECT_EQ(kinds(plan), param.steps);
    }
    std::vector<Errc> codes;
    for (const core::Problem& problem : plan.problems)
        codes.push_back(problem.code);
    EXPECT_EQ(codes, param.problems) << (plan.problems.empty() ? "" : plan.problems[0].text);
    EXPECT_FALSE(plan.title.empty());
    EXPECT_EQ(plan.reasons.empty(), !plan.problems.empty() && plan.steps.empty());
}

void set(core::Settings& settings, const char* key, const char* value) {
    ASSERT_TRUE(settings.set("Driver", key, value, "test"));
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, DriverPlan,
    testing::Values(
        PlanCase{"Converged", {}, Json::object(), "", {}},
        PlanCase{"SwapToTheRunningDriver", {}, swap("535.261.03"), "", {}},
        PlanCase{"Swap", {}, swap("550.163.01"), whole_swap, {}},
        PlanCase{"VersionFromConfiguration",
                 [](Observed&, core::Settings& settings) { set(settings, "Version", "550.163.01"); },
                 Json::object(),
                 whole_swap,
                 {}},
        PlanCase{
            "UnreadInitramfs",
            [](Observed& observed, core::Settings&) {
                observed.initramfs = {{kernel, "/boot/initrd.img-" + kernel}, {"6.1.0-56-amd64", "/boot/i"}};
            },
            {{"driver", {{"request", "swap"}, {"version", "550.163.01"}, {"holders", "wait"}}}},
            "initramfs.clear holders.wait " + whole_swap,
            {}},
        PlanCase{"InitramfsIsIgnored",
                 [](Observed& observed, core::Settings& settings) {
                     observed.initramfs = {{kernel, "/boot/initrd.img-" + kernel}};
                     set(settings, "Initramfs", "ignore");
                 },
                 swap("550.163.01"),
                 whole_swap,
                 {}},
        PlanCase{"InitramfsOfAnUnchangedSelection",
                 [](Observed& observed, core::Settings&) {
                     observed.initramfs = {{kernel, "/boot/initrd.img-" + kernel}};
                     observed.wrong_files = {"/usr/bin/nvidia-smi"};
                 },
                 Json::object(),
                 "driver.prepare driver.select driver.validate",
                 {}},
        PlanCase{"EachGpuComputes",
                 [](Observed&, core::Settings& settings) { set(settings, "Validation", "cuda"); },
                 swap("550.163.01"),
                 "driver.prepare autoload.block units.stop holders.clear driver.devices modules.converge "
                 "units.quiesce "
                 "driver.select driver.devices driver.validate driver.compute autoload.unblock units.start",
                 {}},
        PlanCase{"UsedGpusDoNotCompute",
                 [](Observed& observed, core::Settings& settings) {
                     set(settings, "Validation", "cuda");
                     observed.wrong_files = {"/usr/bin/nvidia-smi"};
                 },
                 Json::object(),
                 "driver.prepare driver.select driver.validate",
                 {}},
        PlanCase{"ComputeFollowsTheFabricManager",
                 [](Observed& observed, core::Settings& settings) {
                     set(settings, "Validation", "cuda");
                     observed.units.emplace_back("nvidia-fabricmanager.service");
                 },
                 swap("550.163.01"),
                 "driver.prepare autoload.block units.stop holders.clear driver.devices modules.converge "
                 "units.quiesce driver.select "
                 "driver.devices driver.validate units.start driver.compute autoload.unblock units.start",
                 {}},
        PlanCase{"Rollback", {}, {{"driver", {{"request", "rollback"}}}}, whole_swap, {}},
        PlanCase{"WithoutClients",
                 [](Observed& observed, core::Settings&) { observed.units.clear(); },
                 swap("550.163.01"),
                 "driver.prepare autoload.block holders.clear driver.devices modules.converge units.quiesce "
                 "driver.select "
                 "driver.devices driver.validate autoload.unblock",
                 {}},
        PlanCase{"Waiting",
                 {},
                 {{"driver", {{"request", "swap"}, {"version", "550.163.01"}, {"holders", "wait"}}}},
                 "holders.wait driver.prepare autoload.block units.stop holders.clear driver.devices "
                 "modules.converge units.quiesce "
                 "driver.select driver.devices driver.validate autoload.unblock units.start",
                 {}},
        PlanCase{"FirstDriver",
                 {},
                 swap("535.261.03"),
                 "driver.prepare autoload.block driver.devices modules.converge units.quiesce driver.select "
                 "driver.devices driver.validate autoload.unblock",
                 {},
                 true},
        PlanCase{"NothingConfigured", {}, Json::object(), "", {}, true},
        PlanCase{"AfterABoot",
                 [](Observed& observed, core::Settings&) {
                     observed.loaded.clear();
                     observed.loaded_version.clear();
                     observed.units.clear();
                 },
                 Json::object(),
                 "modules.converge driver.devices driver.validate",
                 {}},
        PlanCase{
            "RequestedWithoutALoadedDriver",
            [](Observed& observed, core::Settings&) {
                observed.loaded.clear();
                observed.loaded_version.clear();
                observed.units.clear();
            },
            swap("535.261.03"),
            "autoload.block driver.devices modules.converge units.quiesce driver.devices driver.validate "
            "autoload.unblock",
            {}},
        PlanCase{"UdevLoadedTheFirstModule",
                 [](Observed& observed, core::Settings&) {
                     observed.loaded.resize(1);
                     observed.loaded[0].holders.clear();
                 },
                 Json::object(),
                 "modules.converge driver.devices driver.validate",
                 {}},
        PlanCase{"UdevLoadsTheLastModule",
                 [](Observed& observed, core::Settings&) { observed.loaded[1].state = "coming"; },
                 Json::object(),
                 "modules.converge driver.devices driver.validate",
                 {}},
        PlanCase{"OnlyALinkIsWrong",
                 [](Observed& observed, core::Settings&) { observed.wrong_files = {"/usr/bin/nvidia-smi"}; },
                 Json::object(),
                 "driver.prepare driver.select driver.validate",
                 {}},
        PlanCase{"OnlyOptionsChanged",
                 [](Observed&, core::Settings& settings) {
                     set(settings, "ModuleParameters", "nvidia.NVreg_A=1");
                 },
                 Json::object(),
                 "driver.prepare driver.select driver.validate",
                 {}},
        PlanCase{"OnlyNodesAreMissing",
                 [](Observed& observed, core::Settings&) { observed.devices_complete = false; },
                 Json::object(),
                 "driver.devices driver.validate",
                 {}},
        PlanCase{"AutoloadIsStillBlocked",
                 [](Observed& observed, core::Settings&) { observed.autoload_blocked = true; },
                 Json::object(),
                 "driver.validate autoload.unblock",
                 {}},
        PlanCase{"SameVersionRebuilt",
                 [](Observed& observed, core::Settings&) { observed.loaded[1].srcversion = "another"; },
                 Json::object(),
                 "autoload.block units.stop holders.clear driver.devices modules.converge units.quiesce "
                 "driver.devices "
                 "driver.validate autoload.unblock units.start",
                 {}},
        PlanCase{"SelectedDriverCannotBeRead",
                 [](Observed& observed, core::Settings&) { observed.store.versions[1].userland.clear(); },
                 swap("550.163.01"),
                 "",
                 {Errc::BadContent}},
        PlanCase{"SelectedDriverCannotBeReadAndNoneRuns",
                 [](Observed& observed, core::Settings&) {
                     observed.store.versions[1].userland.clear();
                     observed.loaded.clear();
                     observed.loaded_version.clear();
                 },
                 swap("550.163.01"),
                 "driver.prepare autoload.block driver.devices modules.converge units.quiesce driver.select "
                 "driver.devices "
                 "driver.validate autoload.unblock",
                 {}},
        PlanCase{"SelectedIsOfAnotherFlavour",
                 [](Observed&, core::Settings& settings) { set(settings, "Flavour", "proprietary"); },
                 Json::object(),
                 "",
                 {Errc::Unsupported}},
        PlanCase{"NoSuchPolicy",
                 {},
                 {{"driver", {{"request", "swap"}, {"version", "550.163.01"}, {"holders", "terminat"}}}},
                 "",
                 {Errc::InvalidArgument}},
        PlanCase{"NotInStore", {}, swap("560.35.03"), "", {Errc::NotFound}},
        PlanCase{"NotForThisKernel",
                 [](Observed& observed, core::Settings&) { observed.kernel = "6.1.0-56-amd64"; },
                 swap("550.163.01"),
                 "",
                 {Errc::Unsupported}},
        PlanCase{"WrongFlavour",
                 [](Observed&, core::Settings& settings) { set(settings, "Flavour", "proprietary"); },
                 swap("550.163.01"),
                 "",
                 {Errc::Unsupported}},
        PlanCase{"GpusOfBothKinds",
                 [](Observed& observed, core::Settings&) {
                     observed.store.versions[0].userland[0].closed_gpus = {"10de:2330"};
                     observed.gpus.push_back({"0000:66:00.0", "0x2331", "nvidia"});
                 },
                 swap("550.163.01"),
                 "",
                 {Errc::Unsupported}},
        PlanCase{"IncompleteSet",
                 [](Observed& observed,
                    core::Settings&) { observed.store.versions[0].modules[0].modules.resize(2); },
                 swap("550.163.01"),
                 "",
                 {Errc::BadContent, Errc::BadContent}},
        PlanCase{"NoGpu",
                 [](Observed& observed, core::Settings&) { observed.gpus[0].driver = "vfio-pci"; },
                 swap("550.163.01"),
                 "",
                 {Errc::Unsupported}},
        PlanCase{
            "NothingToRollBackTo",
            [](Observed& observed, core::Settings&) { observed.store.selected[kernel].previous.reset(); },
            {{"driver", {{"request", "rollback"}}}},
            "",
            {Errc::NotFound}},
        PlanCase{
            "NoVersionNamed", {}, {{"driver", {{"request", "swap"}}}}, "", {Errc::InvalidArgument}, true}),
    [](const auto& param) { return param.param.name; });

core::Step step(const core::Plan& plan, const std::string& kind) {
    for (const core::Step& candidate : plan.steps)
        if (candidate.kind == kind)
            return candidate;
    return {};
}

core::Plan plan_of(const Observed& observed, const Json& request) {
    const core::Settings settings({driver_setting_keys()});
    return driver_plan({settings, request}, observed);
}

/// Plans with steps of another subsystem: kind "first", "a" before, "v" when it is validated, "b" after.
std::string kinds_around(const Observed& observed, const Json& request) {
    const core::Settings settings({driver_setting_keys()});
    return kinds(driver_plan({settings, request}, observed,
                             {{{"first", "", {}}}, {{"a", "", {}}}, {{"v", "", {}}}, {{"b", "", {}}}}));
}

TEST(DriverPlanAround, OuterStepsFollowUnitsStopAndPrecedeStart) {
    EXPECT_EQ(
        kinds_around(serving_535(), swap("550.163.01")),
        "first driver.prepare autoload.block units.stop a holders.clear driver.devices modules.converge "
        "units.quiesce driver.select "
        "driver.devices driver.validate v autoload.unblock b units.start b");
}

TEST(DriverPlanAround, FirstStepsPrecedeTheWaitForHolders) {
    core::Settings settings({driver_setting_keys()});
    ASSERT_TRUE(settings.set("Driver", "HolderPolicy", "wait", "test"));
    const std::string steps =
        kinds(driver_plan({settings, swap("550.163.01")}, serving_535(), {{{"first", "", {}}}, {}, {}, {}}));
    EXPECT_EQ(steps.find("first holders.wait "), 0U) << steps;
}

/// The inputs that decide which steps a plan has.
struct Situation {
    enum class Loaded { Nothing, Some, All, Rebuilt } loaded;
    enum class Request { Apply, SwapToTheSame, SwapToAnother } request;
    enum class Units { None, One, WithFabricManager } units;
    bool selected;
    bool wrong_file;
    bool nodes_missing;
    bool autoload_blocked;
    bool cuda;
    bool extras; ///< HolderPolicy=wait, an initramfs image that was not read yet, a packaged unit
};

/// Returns the situation number `index`; nothing after the last one.
std::optional<Situation> situation(unsigned index) {
    const auto draw = [&](unsigned values) { return std::exchange(index, index / values) % values; };
    const auto flag = [&] { return draw(2) != 0; };
    const Situation drawn{Situation::Loaded{static_cast<int>(draw(4))},
                          Situation::Request{static_cast<int>(draw(3))},
                          Situation::Units{static_cast<int>(draw(3))},
                          flag(),
                          flag(),
                          flag(),
                          flag(),
                          flag(),
                          flag()};
    return index == 0 ? std::optional(drawn) : std::nullopt;
}

/// Plans for the situation, with steps of another subsystem as kinds_around() has them.
std::string planned_kinds(const Situation& s) {
    core::Settings settings({driver_setting_keys()});
    set(settings, "Validation", s.cuda ? "cuda" : "nvml");
    set(settings, "HolderPolicy", s.extras ? "wait" : "refuse");
    Observed observed = serving_535();
    if (s.loaded == Situation::Loaded::Nothing)
        observed.loaded_version.clear();
    if (s.loaded == Situation::Loaded::Nothing || s.loaded == Situation::Loaded::Some)
        observed.loaded.resize(s.loaded == Situation::Loaded::Some ? 1 : 0);
    if (s.loaded == Situation::Loaded::Rebuilt)
        observed.loaded[1].srcversion = "another";
    observed.units.resize(s.units == Situation::Units::None ? 0 : 1);
    if (s.units == Situation::Units::WithFabricManager)
        observed.units.emplace_back("nvidia-fabricmanager.service");
    if (!s.selected)
        observed.store.selected.clear();
    if (s.wrong_file)
        observed.wrong_files = {"/usr/bin/nvidia-smi"};
    observed.devices_complete = !s.nodes_missing;
    observed.autoload_blocked = s.autoload_blocked;
    if (s.extras) {
        observed.initramfs = {{kernel, "/boot/initrd.img-" + kernel}};
        observed.packaged_units = {"nvidia-fabricmanager.service"};
    }
    const Json request = s.request == Situation::Request::Apply           ? Json::object()
                         : s.request == Situation::Request::SwapToTheSame ? swap("535.261.03")
                                                                          : swap("550.163.01");
    return kinds(driver_plan({settings, request}, observed,
                             {{{"first", "", {}}}, {{"a", "", {}}}, {{"v", "", {}}}, {{"b", "", {}}}}));
}

/// Returns the steps that a plan must have. This restates the order independently of the planner.
std::string expected_kinds(const Situation& s) {
    const bool applies = s.request == Situation::Request::Apply;
    if (applies && !s.selected)
        return ""; // no driver is chosen
    const bool another = s.request == Situation::Request::SwapToAnother;
    const bool selects = another || !s.selected;
    const bool files = selects || s.wrong_file;
    const bool modules = another || s.loaded != Situation::Loaded::All;
    const bool unloads =
        s.loaded == Situation::Loaded::Rebuilt || (another && s.loaded != Situation::Loaded::Nothing);
    const bool as_at_boot = modules && applies && !unloads && !files;
    const bool guarded = modules && !as_at_boot;
    const bool restarts = unloads && s.units != Situation::Units::None;
    const bool fabric = unloads && s.units == Situation::Units::WithFabricManager;
    const bool changes = modules || files || s.nodes_missing || s.autoload_blocked;
    const std::pair<const char*, bool> order[] = {
        {"initramfs.clear", selects && s.extras},
        {"first", unloads},
        {"holders.wait", unloads && s.extras},
        {"driver.prepare", files},
        {"autoload.block", guarded},
        {"units.stop", restarts},
        {"a", unloads},
        {"holders.clear", unloads},
        {"driver.devices", guarded},
        {"modules.converge", modules},
        {"units.quiesce", guarded},
        {"driver.select", files},
        {"units.reload", files && s.extras},
        {"driver.devices", modules || s.nodes_missing},
        {"driver.validate", changes},
        {"units.start", modules && s.cuda && fabric},
        {"driver.compute", modules && s.cuda},
        {"v", unloads},
        {"autoload.unblock", guarded || s.autoload_blocked},
        {"b", changes},
        {"units.start", restarts},
        {"b", restarts},
    };
    std::vector<std::string> expected;
    for (const auto& [kind, wanted] : order)
        if (wanted)
            expected.emplace_back(kind);
    return base::join(expected, " ");
}

TEST(DriverPlanOrder, EachSituationHasItsSteps) {
    unsigned index = 0;
    for (; const auto drawn = situation(index); ++index)
        ASSERT_EQ(planned_kinds(*drawn), expected_kinds(*drawn)) << "situation " << index;
    EXPECT_EQ(index, 4U * 3 * 3 * 2 * 2 * 2 * 2 * 2 * 2);
}

TEST(DriverPlan, AutoloadUnblockIsThePointOfNoReturn) {
    const core::Plan plan = plan_of(serving_535(), swap("550.163.01"));
    std::vector<std::string> forward;
    for (const core::Step& step : plan.steps)
        if (step.forward)
            forward.push_back(step.kind);
    EXPECT_EQ(forward, std::vector<std::string>{"autoload.unblock"});
}

TEST(DriverPlanAround, FirstDriverHasNoStepsBefore) {
    const std::string steps = kinds_around(fresh_host(), swap("550.163.01"));
    EXPECT_EQ(steps.find(" a "), std::string::npos);
    EXPECT_EQ(steps.find("first"), std::string::npos) << "no driver is unloaded";
    EXPECT_NE(steps.find("driver.validate autoload.unblock b"), std::string::npos) << steps;
    EXPECT_EQ(kinds_around(serving_535(), Json::object()), "") << "nothing changes";
}

TEST(DriverPlanArgs, ModulesHaveFilesForBothDirections) {
    const core::Plan plan = plan_of(serving_535(), swap("550.163.01"));
    const ModuleGoal from = goal_from_json(step(plan, "modules.converge").args["from"]);
    const ModuleGoal to = goal_from_json(step(plan, "modules.converge").args["to"]);
    ASSERT_EQ(from.modules.size(), 4U);
    for (const GoalModule& module : from.modules)
        EXPECT_NE(module.path.find("/535.261.03/"), std::string::npos);
    ASSERT_EQ(to.modules.size(), 4U) << "peermem was neither requested nor loaded";
    EXPECT_EQ(to.version, "550.163.01");
}

TEST(DriverPlanArgs, SwapRequiresTheServedGpus) {
    Observed observed = serving_535();
    observed.gpus.push_back({"0000:66:00.0", "0x2330", ""});
    observed.gpus.push_back({"0000:67:00.0", "0x2330", "vfio-pci"});
    const core::Plan plan = plan_of(observed, swap("550.163.01"));
    for (const char* kind : {"modules.converge", "driver.validate"})
        EXPECT_EQ(step(plan, kind).args["gpus"], Json({"0000:65:00.0"})) << kind;
}

TEST(DriverPlanArgs, LoadingAtBootRequiresNoParticularGpu) {
    Observed observed = serving_535();
    observed.loaded.resize(1); // udev loaded nvidia.ko
    observed.loaded[0].holders.clear();
    const core::Plan plan = plan_of(observed, Json::object());
    for (const char* kind : {"modules.converge", "driver.validate"})
        EXPECT_EQ(step(plan, kind).args["gpus"], Json::array()) << kind;
}

TEST(DriverPlanArgs, GpuWithoutAFlavourKeepsTheSelectedDriver) {
    Observed observed = serving_535();
    observed.gpus.push_back({"0000:66:00.0", "0x1db6", ""});
    observed.store.versions[0].userland[0].closed_gpus = {"10de:1db6"};
    observed.store.versions[1].userland[0].closed_gpus = {"10de:1db6"};
    const core::Plan kept = plan_of(observed, Json::object());
    EXPECT_TRUE(kept.problems.empty());
    EXPECT_NE(base::join(kept.reasons, "\n").find("do not drive 0000:66:00.0 (10de:1db6)"),
              std::string::npos);
    EXPECT_EQ(plan_of(observed, swap("550.163.01")).problems.size(), 1U)
        << "an explicit swap reports the problem";
}

TEST(DriverPlanArgs, UnsupportedGpuSelectsTheProprietaryModules) {
    Observed observed = serving_535();
    ModuleSet proprietary = module_set("550.163.01");
    proprietary.flavour = "proprietary";
    proprietary.digest = "p550.163.01";
    proprietary.path = "/proprietary";
    observed.store.versions[0].modules.push_back(proprietary);
    const auto path = [&](const core::Plan& plan) {
        return goal_from_json(step(plan, "modules.converge").args["to"]).modules.at(0).path;
    };
    EXPECT_NE(path(plan_of(observed, swap("550.163.01"))).find("-open/"), std::string::npos);
    observed.store.versions[0].userland[0].closed_gpus = {"10de:2330"};
    const core::Plan plan = plan_of(observed, swap("550.163.01"));
    EXPECT_EQ(path(plan).find("/proprietary/"), 0U) << path(plan);
    EXPECT_NE(base::join(plan.reasons, "\n").find("do not drive 0000:65:00.0 (10de:2330)"),
              std::string::npos);
}

TEST(DriverPlanArgs, DependenciesInTheSetAreLoadedToo) {
    core::Settings settings({driver_setting_keys()});
    set(settings, "Modules", "nvidia-drm");
    const core::Plan plan = driver_plan({settings, swap("550.163.01")}, fresh_host());
    std::vector<std::string> names;
    for (const GoalModule& module : goal_from_json(step(plan, "modules.converge").args["to"]).modules) {
        names.push_back(module.name);
        EXPECT_FALSE(module.optional) << module.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"nvidia", "nvidia_modeset", "nvidia_drm"}));
}

TEST(DriverPlanArgs, ExtraLoadedModulesAreOptional) {
    Observed observed = serving_535();
    for (const std::string name : {"nvidia_peermem", "gdrdrv", "nvidia_fs"}) {
        LoadedModule module;
        module.name = name;
        module.srcversion = "535.261.03" + name;
        module.state = "live";
        observed.loaded.push_back(module);
        observed.loaded[0].holders.push_back(name);
    }
    const Json args = step(plan_of(observed, swap("550.163.01")), "modules.converge").args;
    const ModuleGoal to = goal_from_json(args["to"]);
    ASSERT_EQ(to.modules.size(), 7U);
    EXPECT_EQ(to.modules[4].name, "nvidia_peermem");
    EXPECT_TRUE(to.modules[4].optional);
    EXPECT_NE(to.modules[4].path, "") << "a module of the set";
    for (std::size_t i : {5U, 6U}) {
        EXPECT_EQ(to.modules[i].name, i == 5 ? "gdrdrv" : "nvidia_fs")
            << "of no set, regardless of their names";
        EXPECT_TRUE(to.modules[i].optional);
        EXPECT_EQ(to.modules[i].path, "");
        EXPECT_EQ(to.modules[i].depends, std::vector<std::string>{"nvidia"});
    }
    const ModuleGoal from = goal_from_json(args["from"]);
    ASSERT_EQ(from.modules.size(), 7U);
    EXPECT_FALSE(from.modules[4].optional);
    EXPECT_TRUE(from.modules[6].optional) << "a missing module does not fail the undo";
}

TEST(DriverPlanReasons, ReasonsNameDifferencesWithinAVersion) {
    const auto reasons = [](const Observed& observed) {
        return base::join(plan_of(observed, swap("535.261.03")).reasons, "; ");
    };
    Observed half = serving_535();
    half.loaded.resize(1);
    EXPECT_NE(reasons(half).find("some modules of 535.261.03 are not loaded"), std::string::npos)
        << reasons(half);
    Observed rebuilt = serving_535();
    rebuilt.loaded[1].srcversion = "another";
    EXPECT_NE(reasons(rebuilt).find("are not those of the driver store"), std::string::npos)
        << reasons(rebuilt);
    Observed again = serving_535();
    again.store.versions[1].modules[0].digest = "built again";
    EXPECT_NE(reasons(again).find("files of 535.261.03 that are selected"), std::string::npos)
        << reasons(again);
}

TEST(DriverPlanReasons, OnlyASelectedDriverHasChangedOptions) {
    const std::string changed_options = "ModuleParameters= differs from '" + std::string(options_file) + "'";
    core::Settings settings({driver_setting_keys()});
    const auto reasons = [&](const Observed& observed, const Json& request) {
        return driver_plan({settings, request}, observed).reasons;
    };
    EXPECT_EQ(reasons(serving_535(), Json::object()),
              std::vector<std::string>{"driver 535.261.03 is loaded and selected"});
    const Observed fresh = fresh_host();
    EXPECT_NE(fresh.options, modprobe_options({}));
    EXPECT_FALSE(base::contains(reasons(fresh, swap("550.163.01")), changed_options));
    set(settings, "ModuleParameters", "nvidia.NVreg_A=1");
    EXPECT_EQ(reasons(serving_535(), Json::object()), std::vector<std::string>{changed_options});
}

TEST(DriverPlanReasons, ReasonsNameModulesMissingInTheNewDriver) {
    Observed observed = serving_535();
    LoadedModule peermem;
    peermem.name = "nvidia_peermem";
    peermem.state = "live";
    observed.loaded.push_back(peermem);
    const auto reasons = [&] { return base::join(plan_of(observed, swap("550.163.01")).reasons, "; "); };
    EXPECT_EQ(reasons().find("nvidia_peermem"), std::string::npos) << reasons();
    observed.store.versions[0].modules[0].modules.pop_back();
    EXPECT_NE(reasons().find("'nvidia_peermem' is loaded, but"), std::string::npos) << reasons();
}

TEST(DriverPlanArgs, UndoLoadsWithTheOldParameters) {
    Observed observed = serving_535();
    observed.options = modprobe_options({"nvidia.NVreg_Old=1", "nvidia.NVreg_Both=2", "nvidia-uvm.uvm_x=3"});
    core::Settings settings({driver_setting_keys()});
    set(settings, "ModuleParameters", "nvidia.NVreg_New=1");
    const core::Plan plan = driver_plan({settings, swap("550.163.01")}, observed);
    const Json args = step(plan, "modules.converge").args;
    EXPECT_EQ(goal_from_json(args["to"]).modules[0].parameters, "NVreg_New=1");
    const ModuleGoal from = goal_from_json(args["from"]);
    EXPECT_EQ(from.modules[0].parameters, "NVreg_Old=1 NVreg_Both=2");
    EXPECT_EQ(from.modules[1].parameters, "uvm_x=3");
}

TEST(DriverPlanArgs, ConsoleOnTheDriverIsRecordedAndNamed) {
    Observed observed = serving_535();
    const auto plan = [&](const std::string& version) { return plan_of(observed, swap(version)); };
    EXPECT_EQ(step(plan("550.163.01"), "modules.converge").args["console"], false);
    observed.console = "vtcon1";
    EXPECT_EQ(step(plan("550.163.01"), "modules.converge").args["console"], true);
    EXPECT_NE(base::join(plan("550.163.01").reasons, "\n").find("text console (vtcon1) uses the driver"),
              std::string::npos);
    EXPECT_EQ(base::join(plan("535.261.03").reasons, "\n").find("vtcon1"), std::string::npos)
        << "the console stays bound";
}

TEST(DriverPlanArgs, DropInsOfPackagedUnitsReloadSystemd) {
    Observed observed = serving_535();
    observed.packaged_units = {"nvidia-fabricmanager.service"};
    const core::Plan plan = plan_of(observed, swap("550.163.01"));
    EXPECT_NE(kinds(plan).find("driver.select units.reload "), std::string::npos) << kinds(plan);
    EXPECT_EQ(step(plan, "units.reload").args["units"], Json({"nvidia-fabricmanager.service"}));
    EXPECT_EQ(kinds(plan_of(observed, Json::object())), "") << "nothing changes";
    observed.wrong_files = {"/etc/systemd/system/nvidia-fabricmanager.service.d/50-gpuhost.conf"};
    EXPECT_NE(kinds(plan_of(observed, Json::object())).find("units.reload"), std::string::npos)
        << "a package was installed after the selection";
}

TEST(DriverChoice, NamesVersionsOfStoreAndCommand) {
    const core::Plan plan = plan_of(fresh_host(), Json::object());
    EXPECT_EQ(kinds(plan), "");
    EXPECT_TRUE(plan.problems.empty()) << "the other components can still be applied";
    ASSERT_TRUE(plan.undecided);
    EXPECT_EQ(plan.undecided->text, "no driver is chosen for 1 GPU: the store has 550.163.01, 535.261.03");
    EXPECT_EQ(plan.undecided->hint,
              "Choose one: gpuhostctl upgrade 550.163.01, or set Version= in gpuhostd.conf.");
}

TEST(DriverChoice, PrefersVersionThatIsBuilt) {
    Observed observed = fresh_host();
    observed.store.versions[0].modules.clear();
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint,
              "Choose one: gpuhostctl upgrade 535.261.03, or set Version= in gpuhostd.conf.");
    observed.store.versions[1].modules.clear();
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint,
              "Bring in modules for kernel " + std::string(kernel) +
                  ", or the source of a version: gpuhostctl upgrade FILE….");
    observed.store.versions.clear();
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint, "Bring one in: gpuhostctl upgrade FILE….");
}

TEST(DriverChoice, BuildNeedsSourceAndHeaders) {
    Observed observed = fresh_host();
    observed.store.versions.pop_back();
    observed.store.versions[0].modules.clear();
    observed.store.versions[0].sources.emplace_back().flavour = "open";
    const std::string headers = "Install the headers of exactly this kernel (Debian: "
                                "linux-headers-6.1.0-50-amd64, EL: kernel-devel-6.1.0-50-amd64). ";
    const std::string then = "Then run: gpuhostctl upgrade 550.163.01. Or use modules that are already "
                             "built: gpuhostctl upgrade 550.163.01 MODULES/*.ko.";
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint, headers + then);
    observed.kernels = {{kernel, false, {headers_not_found(kernel)}}};
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint, headers + then);
    for (const char* program : {"make", "cc"})
        observed.kernels[0].build_problems.push_back(
            {base::Errc::Unsupported, std::string("no ") + program, "Install a compiler."});
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint, headers + "Install a compiler. " + then);
    observed.kernels[0].headers = true;
    observed.kernels[0].build_problems.clear();
    EXPECT_EQ(plan_of(observed, Json::object()).undecided->hint,
              "Choose one: gpuhostctl upgrade 550.163.01, or set Version= in gpuhostd.conf.");
}

TEST(DriverChoice, SourceOfAnotherFlavourIsNamed) {
    Observed observed = fresh_host();
    observed.store.versions.pop_back();
    observed.store.versions[0].modules.clear();
    observed.store.versions[0].sources.emplace_back().flavour = "open";
    DriverSettings settings;
    settings.flavour = "proprietary";
    const auto problem = driver_to_choose(observed, settings);
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->hint,
              "Import nvidia-kernel-dkms of this version, or modules that are already built, or "
              "set Flavour=open in gpuhostd.conf to use the source in the store.");
}

TEST(DriverChoice, PreinstalledDriverMayBeKept) {
    Observed observed = serving_535();
    observed.store.selected.clear();
    const auto undecided = plan_of(observed, Json::object()).undecided;
    ASSERT_TRUE(undecided);
    EXPECT_EQ(undecided->hint,
              "Choose one: gpuhostctl upgrade 550.163.01, or set Version= in gpuhostd.conf; or keep driver "
              "535.261.03: set Version=preinstalled in gpuhostd.conf.");
    observed.store.versions.clear();
    EXPECT_FALSE(plan_of(observed, Json::object()).undecided) << "nothing was imported";
}

TEST(DriverChoice, NothingToChooseWithoutGpuOrWithSelection) {
    Observed observed = fresh_host();
    observed.gpus[0].driver = "vfio-pci";
    EXPECT_FALSE(plan_of(observed, Json::object()).undecided);
    EXPECT_FALSE(plan_of(serving_535(), Json::object()).undecided);
}

TEST(DriverPlanArgs, OnlyActiveUnitsAreStopped) {
    EXPECT_EQ(step(plan_of(serving_535(), swap("550.163.01")), "units.stop").args["units"],
              Json({"nvidia-persistenced.service"}));
}

TEST(DriverPlanArgs, SharedOptionsAndUserlandAreRecorded) {
    Observed observed = fresh_host();
    observed.options = modprobe_options({});
    observed.current = "boot/6.1.0-40-amd64/userland";
    const Json args = step(plan_of(observed, swap("550.163.01")), "driver.select").args;
    EXPECT_EQ(args["options_from"], modprobe_options({}));
    EXPECT_EQ(args["current_from"], "boot/6.1.0-40-amd64/userland");
}

TEST(DriverPlanArgs, PreviousSelectionIsRecorded) {
    const Json args = step(plan_of(serving_535(), swap("550.163.01")), "driver.select").args;
    EXPECT_EQ(selection_from_json(args["selection_to"])->previous, generation("535.261.03"));
    EXPECT_EQ(selection_from_json(args["selection_from"])->generation, generation("535.261.03"));
}

TEST(DriverPlanArgs, SignedCopyKeepsThePreviousSelection) {
    Observed observed = serving_535();
    DriverVersion& running = observed.store.versions[1];
    ModuleSet copy = running.modules[0];
    copy.digest = "signed";
    running.modules.insert(running.modules.begin(), copy);
    const Json args = step(plan_of(observed, swap("535.261.03")), "driver.select").args;
    EXPECT_EQ(selection_from_json(args["selection_to"])->generation.modules, "signed");
    EXPECT_EQ(selection_from_json(args["selection_to"])->previous, generation("550.163.01"))
        << "and not the set without a signature";
    running.modules[1].flavour = "proprietary"; // of the running one
    const Json other = step(plan_of(observed, swap("535.261.03")), "driver.select").args;
    EXPECT_EQ(selection_from_json(other["selection_to"])->previous, generation("535.261.03"))
        << "another flavour is another driver";
}

TEST(DriverPlanArgs, NewerModulesOfTheLoadedVersionAreReloaded) {
    Observed observed = serving_535();
    DriverVersion& running = observed.store.versions[1];
    ModuleSet newer = running.modules[0];
    newer.digest = "newer";
    newer.path = "/var/lib/gpuhost/driver/535.261.03/modules/" + kernel + "-open/newer";
    running.modules.insert(running.modules.begin(), newer);
    const core::Plan plan = plan_of(observed, swap("535.261.03"));
    EXPECT_EQ(plan.title, "reload driver 535.261.03");
    EXPECT_EQ(kinds(plan),
              "driver.prepare autoload.block units.stop holders.clear driver.devices modules.converge "
              "modules.converge units.quiesce driver.select driver.devices driver.validate autoload.unblock "
              "units.start");
    std::vector<core::Step> converging;
    std::copy_if(plan.steps.begin(), plan.steps.end(), std::back_inserter(converging),
                 [](const core::Step& step) { return step.kind == "modules.converge"; });
    ASSERT_EQ(converging.size(), 2U);
    const ModuleGoal before = goal_from_json(converging[0].args["from"]);
    EXPECT_EQ(before.modules[0].path, running.modules[1].path + "/nvidia.ko") << "an undo loads the selected";
    EXPECT_TRUE(goal_from_json(converging[0].args["to"]).modules.empty());
    EXPECT_TRUE(goal_from_json(converging[1].args["from"]).modules.empty());
    EXPECT_TRUE(converging[1].args["reloads"]);
    EXPECT_EQ(goal_from_json(converging[1].args["to"]).modules[0].path, newer.path + "/nvidia.ko");
    EXPECT_EQ(kinds(plan_of(observed, Json::object())), "") << "apply keeps the selected modules";
}

TEST(DriverPlanArgs, SignedCopyOfLoadedModulesIsOnlySelected) {
    Observed observed = serving_535();
    DriverVersion& running = observed.store.versions[1];
    ModuleSet copy = running.modules[0];
    copy.digest = "signed";
    for (ModuleFile& module : copy.modules)
        module.signer = "Site modules";
    running.modules.insert(running.modules.begin(), copy);
    EXPECT_EQ(kinds(plan_of(observed, swap("535.261.03"))), "driver.prepare driver.select driver.validate");
    for (ModuleFile& module : running.modules[1].modules)
        module.signer = "Site modules";
    EXPECT_EQ(plan_of(observed, swap("535.261.03")).title, "reload driver 535.261.03")
        << "both are signed, so they may have other code";
}

TEST(DriverPlanArgs, NewUserlandIsAnotherDriver) {
    Observed observed = serving_535();
    DriverVersion& running = observed.store.versions[1];
    ModuleSet copy = running.modules[0];
    copy.digest = "signed";
    running.modules.insert(running.modules.begin(), copy);
    Userland other = running.userland[0];
    other.digest = "other";
    running.userland.insert(running.userland.begin(), other);
    const Json args = step(plan_of(observed, swap("535.261.03")), "driver.select").args;
    EXPECT_EQ(selection_from_json(args["selection_to"])->generation.userland, "other");
    EXPECT_EQ(selection_from_json(args["selection_to"])->previous, generation("535.261.03"));
}

TEST(DriverPlanHistory, SwapRecordsBothVersions) {
    const auto of_a_swap = plan_of(serving_535(), swap("550.163.01")).driver;
    ASSERT_TRUE(of_a_swap);
    EXPECT_EQ(of_a_swap->kernel, serving_535().kernel);
    EXPECT_EQ(of_a_swap->from, "535.261.03");
    EXPECT_EQ(of_a_swap->to, "550.163.01");
    EXPECT_FALSE(plan_of(serving_535(), swap("535.261.03")).driver) << "the version does not change";
}

TEST(DriverPlanHistory, JsonRoundTripKeepsThePlan) {
    core::Plan plan = plan_of(serving_535(), swap("550.163.01"));
    plan.undecided = core::Problem{};
    plan.undecided->text = "no driver is chosen";
    const auto read = core::plan_from_json(core::to_json(plan));
    ASSERT_TRUE(read);
    ASSERT_TRUE(read->driver);
    EXPECT_EQ(core::to_json(*read), core::to_json(plan));
}

TEST(DriverPlanArgs, RequestOverridesTheHolderPolicy) {
    const Json request{{"driver",
                        {{"request", "swap"},
                         {"version", "550.163.01"},
                         {"holders", "terminate"},
                         {"holder-timeout-usec", 5000000}}}};
    const core::Plan plan = plan_of(serving_535(), request);
    EXPECT_EQ(step(plan, "holders.clear").args["policy"], "terminate");
    EXPECT_EQ(step(plan, "holders.clear").args["timeout_usec"], 5000000);
    EXPECT_EQ(step(plan, "modules.converge").args["policy"], "terminate");
}

TEST(DriverPlanArgs, StepsForTheUndoSaySo) {
    const core::Settings settings({driver_setting_keys()});
    std::vector<std::string> names;
    for (const core::Step& step : driver_plan({settings, swap("550.163.01")}, serving_535()).steps)
        if (step.undo_only)
            names.push_back(step.kind + ": " + step.summary);
    EXPECT_EQ(names, (std::vector<std::string>{"driver.devices: restore device nodes if the swap is undone",
                                               "units.quiesce: stop client units if the swap is undone"}));
}

TEST(DriverPlan, WaitForHoldersIsPassive) {
    const core::Plan plan = plan_of(
        serving_535(), {{"driver", {{"request", "swap"}, {"version", "550.163.01"}, {"holders", "wait"}}}});
    EXPECT_TRUE(step(plan, "holders.wait").passive);
    EXPECT_FALSE(step(plan, "driver.prepare").passive);
}

} // namespace
} // namespace gpuhost::kmod
