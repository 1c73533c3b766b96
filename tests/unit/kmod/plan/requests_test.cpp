// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/requests.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using core::Plan;

std::vector<std::string> kinds(const Plan& plan) {
    std::vector<std::string> names;
    for (const core::Step& step : plan.steps)
        names.push_back(step.kind);
    return names;
}

void expect_problem(const Plan& plan, Errc code, const std::string& text) {
    ASSERT_FALSE(plan.problems.empty()) << "expected: " << text;
    EXPECT_EQ(plan.problems[0].code, code);
    EXPECT_NE(plan.problems[0].text.find(text), std::string::npos) << plan.problems[0].text;
    EXPECT_TRUE(plan.steps.empty()) << "a plan with problems has no steps";
}

DriverSettings flavour(const std::string& name) {
    DriverSettings settings;
    settings.flavour = name;
    return settings;
}

DriverSettings signing() {
    DriverSettings settings = flavour("any");
    settings.signing = {"/etc/gpuhost/site.key", "/etc/gpuhost/site.pem", "sha256", ""};
    return settings;
}

/// 550 has a source, and modules for one kernel. 535 has only modules, and runs.
Observed observed() {
    Observed host;
    host.kernel = "6.1.0-50-amd64";
    host.loaded_version = "535.261.03";
    DriverVersion newer;
    newer.version = "550.163.01";
    newer.sources = {{"proprietary", "p", "/p", "p.deb", "usr/src/p", 1, "sha", 0},
                     {"open", "s", "/s", "s.deb", "usr/src/s", 1, "sha", 0}};
    newer.modules = {{"6.1.0-50-amd64", "open", "m", "/m", {}, 0}};
    DriverVersion older;
    older.version = "535.261.03";
    older.modules = {{"6.1.0-50-amd64", "open", "o", "/o", {}, 0}};
    host.store.versions = {newer, older};
    host.store.selected["6.1.0-50-amd64"] = {{"535.261.03", "", "o"}, Generation{"550.163.01", "", "m"}};
    return host;
}

TEST(RequestsTest, ImportTitleHasVersionOfFileNames) {
    EXPECT_EQ(import_plan({"libcuda1_550.163.01-2_amd64.deb", "nvidia-smi_550.163.01-2_amd64.deb"}).title,
              "import driver 550.163.01 (2 packages)");
    EXPECT_EQ(import_plan({"NVIDIA-Linux-x86_64-550.163.01.run"}).title,
              "import driver 550.163.01 (1 package)");
    EXPECT_EQ(import_plan({"nvidia-driver-cuda-550.163.01-1.el9.x86_64.rpm"}).title,
              "import driver 550.163.01 (1 package)");
    EXPECT_EQ(import_plan({"libcuda1_550.163.01-2_amd64.deb", "nvidia-smi_535.261.03-1_amd64.deb"}).title,
              "import driver (2 packages)");
}

TEST(RequestsTest, ImportProtectsVersionsInUse) {
    const std::vector<std::string> in_use{"550.163.01"};
    const Plan other = import_plan({"libcuda1_535.261.03-1_amd64.deb"}, {}, &in_use);
    EXPECT_TRUE(other.problems.empty());
    EXPECT_EQ(other.steps.back().args["protect"], Json(in_use)) << "a file name may be wrong";
    expect_problem(import_plan({"libcuda1_550.163.01-2_amd64.deb"}, {}, &in_use), Errc::AccessDenied,
                   "driver 550.163.01 is configured, loaded or selected");
    expect_problem(import_plan({"nvidia.ko"}, {}, &in_use), Errc::AccessDenied,
                   "do not contain the driver version");
}

TEST(RequestsTest, ImportPassesWantedVersionToTheReader) {
    EXPECT_EQ(import_plan({"nvidia.ko"}, "550.163.01").steps[0].args["version"], "550.163.01");
    EXPECT_FALSE(import_plan({"nvidia.ko"}).steps[0].args.contains("version"));
    expect_problem(import_plan({"nvidia.ko"}, "550/.."), Errc::InvalidArgument, "not a driver version");
}

TEST(RequestsTest, ConfiguredLoadedAndSelectedVersionsAreInUse) {
    Observed seen = observed();
    seen.configured = "560.35.03";
    EXPECT_EQ(versions_in_use(seen), (std::vector<std::string>{"535.261.03", "560.35.03"}));
    seen.configured.clear();
    seen.loaded_version.clear();
    EXPECT_EQ(versions_in_use(seen), (std::vector<std::string>{"535.261.03"})) << "selected";
}

TEST(RequestsTest, BuildWithoutAVersionIsRefused) {
    const Plan plan = build_plan("", {}, false, {}, Observed());
    expect_problem(plan, Errc::InvalidArgument, "no driver version is given, configured or selected");
}

TEST(RequestsTest, ImportAcceptsPackagesOrModules) {
    const Plan packages = import_plan({"a.deb", "b.deb"});
    EXPECT_EQ(kinds(packages), (std::vector<std::string>{"store.stage", "store.publish"}));
    EXPECT_EQ(packages.title, "import driver (2 packages)");
    EXPECT_EQ(packages.steps[0].args["names"], (Json{"a.deb", "b.deb"}));
    EXPECT_EQ(import_plan({"a.rpm", "b.deb"}).title, "import driver (2 packages)");
    EXPECT_EQ(import_plan({"nvidia.ko.xz"}).title, "import driver (1 module)");
    expect_problem(import_plan({}), Errc::InvalidArgument, "no files");
    expect_problem(import_plan({"a.deb", "nvidia.ko"}), Errc::InvalidArgument, "cannot be imported together");
    expect_problem(import_plan({"NVIDIA-Linux.zip"}), Errc::InvalidArgument, "neither");
}

TEST(RequestsTest, BuildCompilesForEachKernelOnce) {
    const Plan plan = build_plan("550.163.01", {"6.1.0-56-amd64", "6.1.0-57-amd64", "6.1.0-56-amd64"}, false,
                                 flavour("any"), observed());
    EXPECT_EQ(kinds(plan), (std::vector<std::string>{"build.compile", "store.publish"}));
    EXPECT_EQ(plan.steps[0].summary, "compile 550.163.01 (open) for 6.1.0-56-amd64, 6.1.0-57-amd64");
    EXPECT_EQ(plan.steps[0].args["kernels"], (Json{"6.1.0-56-amd64", "6.1.0-57-amd64"}));
    EXPECT_EQ(plan.steps[0].args["source"]["flavour"], "open") << "the open modules if both are possible";
    EXPECT_EQ(plan.steps[1].args["kernels"], (Json{"6.1.0-56-amd64", "6.1.0-57-amd64"}));
}

TEST(RequestsTest, BuildOfAnExistingSetHasNoSteps) {
    const Plan plan = build_plan("550.163.01", {}, false, flavour("any"), observed());
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_TRUE(plan.problems.empty());
    EXPECT_EQ(plan.reasons,
              std::vector<std::string>{"550.163.01 has open modules for 6.1.0-50-amd64 already"});
}

TEST(RequestsTest, BuildAgainCompilesAnExistingSet) {
    const Plan plan = build_plan("550.163.01", {}, true, flavour("any"), observed());
    EXPECT_EQ(kinds(plan), (std::vector<std::string>{"build.compile", "store.publish"}));
    EXPECT_EQ(plan.reasons, std::vector<std::string>{"550.163.01 has open modules for 6.1.0-50-amd64"});
}

TEST(RequestsTest, BuildReportsMissingSourceAndVersion) {
    expect_problem(build_plan("1.2.3", {}, false, flavour("any"), observed()), Errc::NotFound,
                   "not in the store");
    expect_problem(build_plan("535.261.03", {}, false, flavour("any"), observed()), Errc::NotFound,
                   "no source");
    expect_problem(build_plan("550.163.01", {"../6.1"}, false, flavour("any"), observed()),
                   Errc::InvalidArgument, "not a kernel release");
}

TEST(RequestsTest, BuildUsesTheConfiguredFlavour) {
    const Plan plan = build_plan("550.163.01", {}, false, flavour("proprietary"), observed());
    ASSERT_FALSE(plan.steps.empty());
    EXPECT_EQ(plan.steps[0].args["source"]["flavour"], "proprietary");
    Observed open_only = observed();
    open_only.store.versions[0].sources.erase(open_only.store.versions[0].sources.begin());
    const Plan lacking = build_plan("550.163.01", {}, false, flavour("proprietary"), open_only);
    expect_problem(lacking, Errc::NotFound, "no proprietary source");
    EXPECT_EQ(lacking.problems[0].hint.find("open-kernel"), std::string::npos)
        << "the hint would fail the same way: " << lacking.problems[0].hint;
    EXPECT_NE(lacking.problems[0].hint.find("Flavour=open"), std::string::npos);
}

TEST(RequestsTest, WithAKeyBuiltModulesAreSigned) {
    const Plan plan = build_plan("550.163.01", {"6.1.0-56-amd64"}, false, signing(), observed());
    EXPECT_EQ(kinds(plan), (std::vector<std::string>{"build.compile", "build.sign", "store.publish"}));
    EXPECT_EQ(plan.steps[1].args["signing"]["key"], "/etc/gpuhost/site.key");
    EXPECT_FALSE(plan.steps[1].args.contains("set"));
}

TEST(RequestsTest, WithAKeyUnsignedSetsAreSigned) {
    Observed unsigned_sets = observed();
    ModuleFile module;
    module.name = "nvidia";
    module.file = "nvidia.ko";
    for (DriverVersion& version : unsigned_sets.store.versions)
        version.modules[0].modules = {module};
    const Plan plan = build_plan("550.163.01", {}, false, signing(), unsigned_sets);
    EXPECT_EQ(kinds(plan), (std::vector<std::string>{"build.sign", "store.publish"}));
    EXPECT_EQ(plan.steps[0].args["set"], "/m");
    EXPECT_EQ(plan.steps[1].args["kernels"], Json::array({"6.1.0-50-amd64"}));
    EXPECT_EQ(plan.reasons,
              std::vector<std::string>{
                  "550.163.01 has open modules for 6.1.0-50-amd64 already, which are not signed"});
    EXPECT_EQ(kinds(build_plan("535.261.03", {}, false, signing(), unsigned_sets)), kinds(plan))
        << "signing needs no source";
    unsigned_sets.store.versions[0].modules[0].modules[0].signer = "Somebody";
    EXPECT_TRUE(build_plan("550.163.01", {}, false, signing(), unsigned_sets).steps.empty());
}

TEST(RequestsTest, KeyWithoutCertificateOrWithPinIsRefused) {
    DriverSettings settings = signing();
    settings.signing.certificate.clear();
    expect_problem(build_plan("550.163.01", {}, true, settings, observed()), Errc::InvalidArgument,
                   "SigningCertificate=");
    settings = signing();
    settings.signing.key = "pkcs11:object=site?pin-value=1234";
    const Plan plan = build_plan("550.163.01", {}, true, settings, observed());
    expect_problem(plan, Errc::InvalidArgument, "PIN");
    EXPECT_EQ(base::dump(core::to_json(plan)).find("1234"), std::string::npos)
        << "the pin is not in the journal";
}

TEST(RequestsTest, DamagedSetCanBeRemovedAndVerified) {
    Observed damaged = observed();
    damaged.store.problems = {"/var/lib/gpuhost/driver/1.2.3/userland/abc/manifest.json: digest mismatch"};
    EXPECT_EQ(kinds(remove_plan("1.2.3", {}, damaged)),
              (std::vector<std::string>{"store.remove", "store.purge"}));
    EXPECT_EQ(kinds(verify_plan("1.2.3", damaged)), std::vector<std::string>{"store.verify"});
    expect_problem(remove_plan("1.2", {}, damaged), Errc::NotFound, "not in the store");
    damaged.store.problems = {"/var/lib/gpuhost/driver/selected/6.1.0-50-amd64: not a valid selection"};
    expect_problem(verify_plan("selected", damaged), Errc::NotFound, "not in the store");
}

TEST(RequestsTest, RemoveRefusesVersionsInUse) {
    const Plan used = remove_plan("535.261.03", {}, observed());
    expect_problem(used, Errc::InUse, "selected for kernel 6.1.0-50-amd64");
    ASSERT_EQ(used.problems.size(), 2U) << "all problems, not the first";
    EXPECT_NE(used.problems[1].text.find("is loaded"), std::string::npos);
    expect_problem(remove_plan("1.2.3", {}, observed()), Errc::NotFound, "not in the store");
    expect_problem(remove_plan("550.163.01", {"550.163.01"}, observed()), Errc::Refused, "is pinned");
    const Plan plan = remove_plan("550.163.01", {}, observed());
    EXPECT_EQ(kinds(plan), (std::vector<std::string>{"store.remove", "store.purge"}));
    EXPECT_TRUE(plan.steps[1].forward) << "deleted files cannot be restored";
    EXPECT_EQ(plan.reasons,
              std::vector<std::string>{"rollback on kernel 6.1.0-50-amd64 will no longer be possible"});
}

TEST(RequestsTest, VerifyChecksOneOrAllVersions) {
    EXPECT_EQ(verify_plan("550.163.01", observed()).steps[0].args["versions"], Json{"550.163.01"});
    EXPECT_EQ(verify_plan("", observed()).steps[0].args["versions"], Json::array());
    EXPECT_TRUE(verify_plan("", Observed()).steps.empty());
    expect_problem(verify_plan("1.2.3", observed()), Errc::NotFound, "not in the store");
}

} // namespace
} // namespace gpuhost::kmod
