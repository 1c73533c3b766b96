// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "kmod/plan/clean_plan.hpp"
#include "kmod/plan/select_plan.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using core::Plan;

const std::string running = "6.1.0-50-amd64";
const std::string next = "6.1.0-56-amd64";

DriverVersion driver_version(const std::string& version, const std::vector<std::string>& kernels) {
    DriverVersion driver;
    driver.version = version;
    for (const std::string& kernel : kernels) {
        ModuleSet set;
        set.kernel = kernel;
        set.flavour = "open";
        set.digest = "m" + version + kernel;
        set.path = "/modules/" + version + kernel;
        driver.modules.push_back(set);
    }
    driver.userland.push_back({"u" + version, "/userland/" + version, 3, 4, true, {}, 0});
    return driver;
}

/// 550 runs, and has modules for the next kernel too. 535 has modules for the running kernel.
Observed host() {
    Observed observed;
    observed.kernel = running;
    observed.kernels = {{running, true}, {next, false}};
    observed.gpus = {{"0000:65:00.0", "0x2330", "nvidia"}};
    observed.loaded_version = "550.163.01";
    observed.store.versions = {driver_version("550.163.01", {running, next}),
                               driver_version("535.261.03", {running})};
    observed.store.selected[running] = {{"550.163.01", "u550.163.01", "m550.163.01" + running}, std::nullopt};
    observed.current = "boot/" + running + "/userland";
    observed.options = "blacklist nouveau\n";
    return observed;
}

DriverSettings settings(const std::string& version = {}) {
    core::Settings values({driver_setting_keys()});
    EXPECT_TRUE(values.set("Driver", "Version", version, "test"));
    return driver_settings(values);
}

std::string kinds(const Plan& plan) {
    std::vector<std::string> names;
    for (const core::Step& step : plan.steps)
        names.push_back(step.kind);
    return base::join(names, " ");
}

void expect_problem(const Plan& plan, Errc code, const std::string& text) {
    ASSERT_FALSE(plan.problems.empty()) << "expected: " << text;
    EXPECT_EQ(plan.problems[0].code, code);
    EXPECT_NE(plan.problems[0].text.find(text), std::string::npos) << plan.problems[0].text;
    EXPECT_FALSE(plan.problems[0].hint.empty());
    EXPECT_TRUE(plan.steps.empty()) << "a plan with problems has no steps";
}

TEST(HandsOff, PreinstalledDriverIsObservedButNotChanged) {
    Observed own = host();
    own.store.selected.clear();
    const Plan plan = hands_off_plan(DriverOwner::Preinstalled, "", own);
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_TRUE(plan.problems.empty());
    ASSERT_EQ(plan.reasons.size(), 1U);
    EXPECT_NE(plan.reasons[0].find("550.163.01 is preinstalled and loaded"), std::string::npos);
}

TEST(HandsOff, ProblemsOfAPreinstalledDriverAreReported) {
    Observed own = host();
    own.store.selected.clear();
    Observed none = own;
    none.loaded_version.clear();
    expect_problem(hands_off_plan(DriverOwner::Preinstalled, "", none), Errc::NotFound,
                   "no NVIDIA driver is loaded");
    Observed idle = own;
    idle.gpus[0].driver.clear();
    expect_problem(hands_off_plan(DriverOwner::Preinstalled, "", idle), Errc::Failed, "0000:65:00.0");
    Observed partial = own;
    partial.gpus.push_back({"0000:66:00.0", "0x2330", ""});
    const Plan plan = hands_off_plan(DriverOwner::Preinstalled, "", partial);
    EXPECT_TRUE(plan.problems.empty()) << "the other GPU is served";
    EXPECT_NE(base::join(plan.reasons, "\n").find("does not drive 0000:66:00.0"), std::string::npos);
    Observed nodes = own;
    nodes.devices_complete = false;
    expect_problem(hands_off_plan(DriverOwner::Preinstalled, "", nodes), Errc::NotFound, "device nodes");
    expect_problem(hands_off_plan(DriverOwner::Preinstalled, "", host()), Errc::Refused, "is still selected");
    Observed without_gpu = none;
    without_gpu.gpus[0].driver = "vfio-pci";
    EXPECT_TRUE(hands_off_plan(DriverOwner::Preinstalled, "", without_gpu).problems.empty());
}

TEST(HandsOff, OffHasNoStepsAndProblems) {
    Observed none = host();
    none.loaded_version.clear();
    const Plan plan = hands_off_plan(DriverOwner::Nobody, "", none);
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_TRUE(plan.problems.empty());
    EXPECT_FALSE(plan.reasons.empty());
}

TEST(HandsOff, SwapIsRefused) {
    for (const char* value : {"off", "preinstalled"}) {
        core::Settings values({driver_setting_keys()});
        ASSERT_TRUE(values.set("Driver", "Version", value, "test"));
        const Json request{{"driver", {{"request", "swap"}, {"version", "535.261.03"}}}};
        const Plan plan = driver_plan({values, request}, host());
        EXPECT_EQ(plan.kind, "driver.swap");
        expect_problem(plan, Errc::Refused, std::string("Version=") + value);
        expect_problem(select_plan("", {}, driver_settings(values), host()), Errc::Refused, value);
    }
}

TEST(SelectPlan, DefaultIsTheRunningVersion) {
    const Plan plan = select_plan("", {}, settings(), host());
    ASSERT_EQ(kinds(plan), "driver.prepare driver.select");
    const Json& args = plan.steps[1].args;
    EXPECT_EQ(args["kernel"], next);
    EXPECT_EQ(args["boots_only"], true) << "the running driver keeps its libraries, programs and parameters";
    EXPECT_EQ(args["to"]["modules_path"], "/modules/550.163.01" + next);
    EXPECT_EQ(args["from"], Json());
    EXPECT_EQ(args["selection_to"]["previous"], Json());
}

TEST(SelectPlan, InitramfsIsClearedFirst) {
    Observed observed = host();
    observed.initramfs = {{running, "/boot/initrd.img-" + running}, {next, "/boot/initrd.img-" + next}};
    const Plan plan = select_plan("", {}, settings(), observed);
    ASSERT_EQ(kinds(plan), "initramfs.clear driver.prepare driver.select");
    EXPECT_EQ(plan.steps[0].args["kernel"], next);
    DriverSettings ignoring = settings();
    ignoring.clear_initramfs = false;
    EXPECT_EQ(kinds(select_plan("", {}, ignoring, observed)), "driver.prepare driver.select");
}

TEST(SelectPlan, RepeatedSelectHasNoSteps) {
    Observed observed = host();
    observed.store.selected[next] = {{"550.163.01", "u550.163.01", "m550.163.01" + next}, std::nullopt};
    const Plan again = select_plan("550.163.01", {next}, settings(), observed);
    EXPECT_TRUE(again.steps.empty());
    EXPECT_TRUE(again.problems.empty());
    observed.store.versions[1].modules.push_back(observed.store.versions[1].modules[0]);
    observed.store.versions[1].modules[1].kernel = next;
    const Plan other = select_plan("535.261.03", {next}, settings(), observed);
    ASSERT_EQ(kinds(other), "driver.prepare driver.select");
    EXPECT_EQ(other.steps[1].args["selection_to"]["previous"]["version"], "550.163.01");
    EXPECT_EQ(other.steps[1].args["from"]["version"], "550.163.01");
}

/// Returns the previous generation after 550 is selected for the next kernel, which boots it already.
Json previous_after_select(const Observed& observed) {
    const Plan plan = select_plan("550.163.01", {next}, settings(), observed);
    EXPECT_EQ(kinds(plan), "driver.prepare driver.select");
    return plan.steps.empty() ? Json() : plan.steps.back().args["selection_to"]["previous"];
}

TEST(SelectPlan, SignedCopyKeepsThePreviousSelection) {
    Observed observed = host();
    const Generation before{"535.261.03", "u535.261.03", "m535.261.03" + next};
    observed.store.selected[next] = {{"550.163.01", "u550.163.01", "m550.163.01" + next}, before};
    std::vector<ModuleSet>& sets = observed.store.versions[0].modules;
    ModuleSet copy = sets[1];
    copy.digest = "signed";
    sets.insert(sets.begin(), copy);
    EXPECT_EQ(previous_after_select(observed)["version"], "535.261.03")
        << "and not the set without a signature";
    Observed removed = observed;
    removed.store.versions[0].modules.pop_back();
    EXPECT_EQ(previous_after_select(removed)["version"], "535.261.03")
        << "a rollback can't load a removed set";
    observed.store.versions[0].userland[0].digest = "other";
    EXPECT_EQ(previous_after_select(observed)["userland"], "u550.163.01");
}

TEST(SelectPlan, ImpossibleSelectionsAreRefused) {
    expect_problem(select_plan("550.163.01", {"6.6.6"}, settings(), host()), Errc::NotFound, "6.6.6");
    expect_problem(select_plan("550.163.01", {running}, settings(), host()), Errc::InvalidArgument,
                   "is running");
    expect_problem(select_plan("535.261.03", {next}, settings(), host()), Errc::Unsupported,
                   "no modules for kernel");
    Observed fresh = host();
    fresh.store.selected.clear();
    fresh.current.clear();
    expect_problem(select_plan("", {}, settings(), fresh), Errc::InvalidArgument, "no driver version");
}

TEST(SelectPlan, SelectionAgainstTheSettingsIsRefused) {
    expect_problem(select_plan("550.163.01", {next}, settings("535.261.03"), host()), Errc::Refused,
                   "Version=535.261.03");
    EXPECT_TRUE(select_plan("550.163.01", {next}, settings("550.163.01"), host()).problems.empty());
}

/// In an offline system all kernels are equal, and no GPU can be observed.
TEST(SelectPlan, WithoutGpusThePreviousFlavourIsUsed) {
    Observed observed = host();
    observed.kernel = "none";
    observed.gpus.clear();
    ModuleSet closed = observed.store.find("550.163.01")->modules.front();
    closed.flavour = "proprietary";
    closed.digest = "closed";
    for (DriverVersion& version : observed.store.versions)
        if (version.version == "550.163.01")
            version.modules.push_back(closed);
        else
            version.modules.front().flavour = "proprietary";
    const std::string open = observed.store.selected[running].generation.modules;
    observed.store.selected[running].generation = {"535.261.03", "u535.261.03",
                                                   observed.store.find("535.261.03")->modules.front().digest};
    const Plan plan = select_plan("550.163.01", {running}, settings(), observed);
    ASSERT_EQ(kinds(plan), "driver.prepare driver.select");
    EXPECT_EQ(plan.steps[1].args["selection_to"]["modules"], "closed");
    EXPECT_EQ(plan.steps[1].args["boots_only"], false) << "the libraries belong to this kernel";
    EXPECT_NE(
        base::join(plan.reasons, "\n").find("no GPU is visible, so " + running + " gets proprietary modules"),
        std::string::npos)
        << base::join(plan.reasons, "\n");
    observed.gpus = host().gpus;
    const Plan looked = select_plan("550.163.01", {running}, settings(), observed);
    EXPECT_EQ(looked.steps[1].args["selection_to"]["modules"], open);
    EXPECT_EQ(base::join(looked.reasons, "\n").find("no GPU is visible"), std::string::npos);
}

TEST(SelectPlan, NewlyBootedKernelUsesThePreviousVersion) {
    Observed observed = host();
    observed.kernel = next;
    EXPECT_EQ(version_in_use(settings(), observed), "550.163.01") << "by the target of the libraries' link";
    EXPECT_EQ(version_in_use(settings("535.261.03"), observed), "535.261.03");
    observed.current.clear();
    EXPECT_EQ(version_in_use(settings(), observed), "");
}

TEST(DeselectPlan, SharedFilesAreRemovedLast) {
    Observed observed = host();
    observed.store.selected[next] = {{"550.163.01", "u550.163.01", "m550.163.01" + next}, std::nullopt};
    const Plan plan = deselect_plan(settings(), observed, {{}, {}, {}, {{"cdi.publish", "", {}}}});
    ASSERT_EQ(kinds(plan), "driver.select driver.select cdi.publish");
    EXPECT_EQ(plan.steps[0].args["kernel"], next);
    EXPECT_EQ(plan.steps[0].args["boots_only"], true);
    EXPECT_EQ(plan.steps[1].args["boots_only"], false) << "the running kernel is the last";
    EXPECT_EQ(plan.steps[1].args["options_to"], "");
    EXPECT_EQ(plan.steps[1].args["to"], Json());
}

TEST(DeselectPlan, LibrariesOfAnotherKernelAreRemovedWithIt) {
    Observed observed = host();
    observed.kernel = next;
    const Plan plan = deselect_plan(settings(), observed);
    ASSERT_EQ(plan.steps.size(), 1U);
    EXPECT_EQ(plan.steps[0].args["boots_only"], false);
}

TEST(DeselectPlan, KernelWithTheLibrariesIsDeselectedLast) {
    Observed observed = host();
    const std::string ran = observed.kernel;
    observed.kernel = next; // the libraries still belong to the previous kernel
    observed.store.selected[next] = {{"550.163.01", "u550.163.01", "m550.163.01" + next}, std::nullopt};
    const Plan plan = deselect_plan(settings(), observed);
    ASSERT_EQ(plan.steps.size(), 2U);
    EXPECT_EQ(plan.steps[0].args["kernel"], next);
    EXPECT_EQ(plan.steps[1].args["kernel"], ran);
}

TEST(DeselectPlan, ConfiguredVersionIsRefused) {
    expect_problem(deselect_plan(settings("550.163.01"), host()), Errc::Refused, "Version=550.163.01");
    EXPECT_TRUE(deselect_plan(settings("preinstalled"), host()).problems.empty());
    Observed nothing = host();
    nothing.store.selected.clear();
    EXPECT_TRUE(deselect_plan(settings("550.163.01"), nothing).problems.empty()) << "nothing to do";
}

/// Returns the versions that `clean` removes, in order.
std::string cleaned(const DriverSettings& wanted, const Observed& observed) {
    std::vector<std::string> versions;
    for (const core::Step& step : clean_plan(wanted, observed).steps)
        if (step.kind == "store.remove")
            versions.push_back(base::string_or(step.args, "version", ""));
    return base::join(versions, " ");
}

TEST(CleanPlan, RemovesUnreferencedOldVersions) {
    Observed observed = host();
    observed.store.versions.insert(observed.store.versions.begin(), driver_version("570.86.15", {}));
    observed.store.versions.push_back(driver_version("525.147.05", {}));
    EXPECT_EQ(cleaned(settings(), observed), "535.261.03 525.147.05") << "570 is newer: a swap may use it";
    const Plan plan = clean_plan(settings(), observed);
    EXPECT_EQ(kinds(plan), "store.remove store.remove store.purge store.purge");
    EXPECT_TRUE(plan.steps[2].forward);
    EXPECT_EQ(plan.reasons.size(), 4U) << "each kept version with its reason";
}

TEST(CleanPlan, KeepsVersionsInUseSelectedOrPinned) {
    Observed observed = host();
    EXPECT_EQ(cleaned(settings(), observed), "535.261.03");
    DriverSettings pinned = settings();
    pinned.pins = {"535.261.03"};
    EXPECT_EQ(cleaned(pinned, observed), "");
    Observed previous = observed;
    previous.store.selected[running].previous = Generation{"535.261.03", "", ""};
    EXPECT_EQ(cleaned(settings(), previous), "");
    Observed loaded = observed;
    loaded.loaded_version = "535.261.03";
    EXPECT_EQ(cleaned(settings(), loaded), "");
    Observed fresh = observed;
    fresh.store.selected.clear();
    fresh.current.clear();
    fresh.loaded_version.clear();
    EXPECT_EQ(cleaned(settings(), fresh), "") << "a newly imported version";
    EXPECT_EQ(cleaned(settings("580.1.1"), fresh), "") << "no version is older than one that is not imported";
}

const std::string gone = "6.1.0-40-amd64";

/// Both versions have modules for a removed kernel, which booted the older one.
Observed host_after_an_upgrade() {
    Observed observed = host();
    observed.store.versions = {driver_version("550.163.01", {running, next, gone}),
                               driver_version("535.261.03", {running, gone})};
    observed.store.selected[running].previous = Generation{"535.261.03", "", "m535.261.03" + running};
    observed.removed_kernels = {{gone, "modules", "record", "boot"}};
    return observed;
}

/// Returns the removed sets of kernels: "550.163.01 6.1.0-40-amd64, …".
std::string cleaned_sets(const DriverSettings& wanted, const Observed& observed) {
    std::vector<std::string> sets;
    for (const core::Step& step : clean_plan(wanted, observed).steps)
        if (step.kind == "store.remove" && step.args.contains("kernel"))
            sets.push_back(base::string_or(step.args, "version", "") + " " +
                           base::string_or(step.args, "kernel", ""));
    return base::join(sets, ", ");
}

TEST(CleanPlan, RemovesModulesOfRemovedKernels) {
    const Plan plan = clean_plan(settings(), host_after_an_upgrade());
    EXPECT_EQ(kinds(plan), "store.forget store.remove store.remove store.purge store.purge")
        << "links first, and no deletion before all sets are moved out";
    EXPECT_EQ(plan.steps[0].args, to_json(RemovedKernel{gone, "modules", "record", "boot"}));
    EXPECT_EQ(plan.steps[1].args, (Json{{"version", "550.163.01"},
                                        {"kernel", gone},
                                        {"flavour", "open"},
                                        {"digest", "m550.163.01" + gone}}));
    EXPECT_EQ(plan.steps[3].args, plan.steps[1].args);
    EXPECT_FALSE(plan.steps[2].forward);
    EXPECT_TRUE(plan.steps[3].forward);
    EXPECT_EQ(plan.title, "remove 2 module sets from the driver store");
    EXPECT_NE(base::join(plan.reasons, "\n")
                  .find("the open modules of 550.163.01 for " + gone + " are no longer needed"),
              std::string::npos);
}

TEST(CleanPlan, RemovedVersionIncludesItsSets) {
    Observed observed = host_after_an_upgrade();
    observed.store.selected[running].previous.reset();
    const Plan plan = clean_plan(settings(), observed);
    EXPECT_EQ(kinds(plan), "store.forget store.remove store.remove store.purge store.purge");
    EXPECT_EQ(plan.steps[1].args, (Json{{"version", "535.261.03"}}));
    EXPECT_EQ(cleaned_sets(settings(), observed), "550.163.01 " + gone);
}

TEST(CleanPlan, KeepsModulesThatMayBeNeeded) {
    DriverSettings pinned = settings();
    pinned.pins = {"550.163.01"};
    EXPECT_EQ(cleaned_sets(pinned, host_after_an_upgrade()), "535.261.03 " + gone);
    Observed early = host_after_an_upgrade();
    early.kernels = {{running, true}}; // `next` is not installed yet
    EXPECT_EQ(cleaned_sets(settings(), early), cleaned_sets(settings(), host_after_an_upgrade()));
    Observed running_one = host_after_an_upgrade();
    running_one.kernel = gone; // its package was removed while it ran
    EXPECT_EQ(cleaned_sets(settings(), running_one), "");
    EXPECT_EQ(kinds(clean_plan(settings(), running_one)), "");
    Observed libraries = host_after_an_upgrade();
    libraries.current = "boot/" + gone + "/userland";
    EXPECT_EQ(kinds(clean_plan(settings(), libraries)), "") << "programs find the libraries through it";
    Observed none_known = host_after_an_upgrade();
    none_known.kernels.clear();
    EXPECT_EQ(kinds(clean_plan(settings(), none_known)), "") << "/lib/modules is missing";
    for (const bool goes_back : {false, true}) {
        Observed selected = host_after_an_upgrade();
        const Generation other{"550.163.01", "", "m550.163.01" + gone};
        if (goes_back)
            selected.store.selected[next] = {{"550.163.01", "", "m550.163.01" + next}, other};
        else
            selected.store.selected[next] = {other, std::nullopt};
        EXPECT_EQ(cleaned_sets(settings(), selected), "535.261.03 " + gone) << goes_back;
    }
}

/// The modules of 550 for the next kernel were imported twice more.
Observed host_after_imports() {
    Observed observed = host();
    std::vector<ModuleSet>& sets = observed.store.versions[0].modules;
    for (const char* digest : {"second", "third"}) {
        sets.insert(sets.begin(), sets.back());
        sets.front().digest = digest;
        sets.front().path = std::string("/modules/") + digest;
    }
    return observed;
}

/// Returns the digests of the removed sets.
std::string cleaned_digests(const DriverSettings& wanted, const Observed& observed) {
    std::vector<std::string> sets;
    for (const core::Step& step : clean_plan(wanted, observed).steps)
        if (step.kind == "store.remove")
            sets.push_back(base::string_or(step.args, "digest", base::string_or(step.args, "version", "")));
    return base::join(sets, " ");
}

TEST(CleanPlan, RemovesSupersededModules) {
    const std::string oldest = "m550.163.01" + next;
    const Observed observed = host_after_imports();
    EXPECT_EQ(cleaned_digests(settings(), observed), "535.261.03 second " + oldest);
    EXPECT_NE(base::join(clean_plan(settings(), observed).reasons, "\n")
                  .find("the superseded open modules of 550.163.01 for " + next +
                        " are no longer needed: newer ones are stored"),
              std::string::npos);
    DriverSettings pinned = settings();
    pinned.pins = {"550.163.01", "535.261.03"};
    EXPECT_EQ(cleaned_digests(pinned, observed), "second " + oldest) << "a pin keeps the newest";
    Observed flavours = observed;
    flavours.store.versions[0].modules.back().flavour = "proprietary";
    EXPECT_EQ(cleaned_digests(settings(), flavours), "535.261.03 second");
}

TEST(CleanPlan, KeepsSupersededModulesInUse) {
    const Generation second{"550.163.01", "", "second"};
    const std::string oldest = "m550.163.01" + next;
    Observed selected = host_after_imports();
    selected.store.selected[next] = {second, std::nullopt};
    EXPECT_EQ(cleaned_digests(settings(), selected), "535.261.03 " + oldest);
    EXPECT_NE(base::join(clean_plan(settings(), selected).reasons, "\n").find("boots them"),
              std::string::npos);
    Observed previous = host_after_imports();
    previous.store.selected[next] = {{"550.163.01", "", "third"}, second};
    EXPECT_EQ(cleaned_digests(settings(), previous), "535.261.03 " + oldest);
    Observed loaded = host_after_imports();
    loaded.kernel = next;
    loaded.loaded = {{"nvidia", "550.163.01", "ABC", 0, {}, "live"}};
    ModuleFile file;
    file.name = "nvidia";
    file.file = "nvidia.ko";
    file.srcversion = "ABC";
    loaded.store.versions[0].modules[1].modules = {file};
    EXPECT_EQ(cleaned_digests(settings(), loaded), "535.261.03 " + oldest);
}

TEST(CleanPlan, ForgetsKernelsWithoutModulesInTheStore) {
    Observed observed = host();
    observed.removed_kernels = {{gone, "", "", "boot"}};
    observed.store.versions.pop_back();
    EXPECT_EQ(kinds(clean_plan(settings(), observed)), "store.forget");
}

} // namespace
} // namespace gpuhost::kmod
