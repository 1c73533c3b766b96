// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/host/worker/sandbox.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <utility>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

constexpr const char* analyze = "/usr/bin/systemd-analyze";
constexpr std::array all{core::Sandbox::Parse,   core::Sandbox::Content, core::Sandbox::Compile,
                         core::Sandbox::Sign,    core::Sandbox::Store,   core::Sandbox::System,
                         core::Sandbox::Modules, core::Sandbox::Units,   core::Sandbox::Runtimes,
                         core::Sandbox::Devices, core::Sandbox::Mig,     core::Sandbox::Boot};

std::string capabilities(std::uint64_t mask) {
    constexpr std::array<std::pair<unsigned, const char*>, 10> names{
        {{CAP_CHOWN, "CAP_CHOWN"},
         {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
         {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
         {CAP_FOWNER, "CAP_FOWNER"},
         {CAP_KILL, "CAP_KILL"},
         {CAP_SYS_MODULE, "CAP_SYS_MODULE"},
         {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
         {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
         {CAP_SYS_CHROOT, "CAP_SYS_CHROOT"},
         {CAP_MKNOD, "CAP_MKNOD"}}};
    std::string text;
    for (const auto& [number, name] : names) {
        if ((mask & (std::uint64_t{1} << number)) != 0)
            text += std::string(" ") + name;
        mask &= ~(std::uint64_t{1} << number);
    }
    EXPECT_EQ(mask, 0U) << "this test does not know the capability";
    return text;
}

/// Renders the properties as a unit file for systemd-analyze.
struct Render {
    const std::string& name;

    std::string operator()(bool value) const { return value ? "yes" : "no"; }
    std::string operator()(std::uint64_t value) const {
        if (name == "CapabilityBoundingSet" || name == "AmbientCapabilities")
            return capabilities(value);
        return name == "RestrictNamespaces" ? (value == 0 ? "yes" : "no") : std::to_string(value);
    }
    std::string operator()(std::int32_t value) const { return std::to_string(value); }
    std::string operator()(std::uint32_t value) const {
        EXPECT_EQ(name, "UMask");
        return {'0', static_cast<char>('0' + value / 64), static_cast<char>('0' + value / 8 % 8),
                static_cast<char>('0' + value % 8)}; // in octal
    }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const Words& value) const { return base::join(value, " "); }
    std::string operator()(const Filter& value) const {
        const std::string names = base::join(value.names, " ");
        return value.allow && names.empty() ? "none" : (value.allow ? "" : "~") + names;
    }
};

std::string unit_file(core::Sandbox sandbox) {
    std::string text = "[Service]\nExecStart=/bin/true\n";
    for (const auto& property :
         sandbox_properties(sandbox, {"/run/gpuhost/jobs/1-1-1", "-/var/lib/gpuhost/staging/1"}))
        text += property.name + "=" + std::visit(Render{property.name}, property.value) + "\n";
    return text;
}

class Exposure : public testing::TestWithParam<core::Sandbox> {};

TEST(Sandbox, WidestSandboxIncludesTheOthers) {
    using core::Sandbox;
    EXPECT_EQ(widest({}), Sandbox::Store);
    EXPECT_EQ(widest({Sandbox::Store}), Sandbox::Store);
    EXPECT_EQ(widest({Sandbox::Store, Sandbox::System}), Sandbox::System);
    EXPECT_EQ(widest({Sandbox::Units, Sandbox::System}), Sandbox::Units);
    EXPECT_EQ(widest({Sandbox::Devices, Sandbox::Units}), Sandbox::Devices);
    EXPECT_EQ(widest({Sandbox::Devices, Sandbox::Mig}), Sandbox::Mig);
    EXPECT_EQ(widest({Sandbox::Devices, Sandbox::Modules, Sandbox::Units}), Sandbox::Modules);
}

TEST_P(Exposure, SystemdAnalyzeExposureIsAtMostFour) {
    if (::access(analyze, X_OK) != 0)
        GTEST_SKIP() << "no systemd-analyze";
    const tests::TempDir directory;
    directory.write("worker.service", unit_file(GetParam()));
    base::Command command;
    command.argv = {analyze,         "security",       "--no-pager",
                    "--offline=yes", "--threshold=40", directory.path("worker.service")};
    const auto finished = base::run(command);
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->exit_status, 0) << finished->output;
    const auto overall = finished->output.find("Overall exposure");
    if (overall != std::string::npos)
        RecordProperty("exposure", finished->output.substr(overall, 60));
    EXPECT_EQ(finished->output.find("Unknown"), std::string::npos) << finished->output;
    EXPECT_EQ(finished->output.find("Failed to parse"), std::string::npos) << finished->output;
}

INSTANTIATE_TEST_SUITE_P(EverySandbox, Exposure, testing::ValuesIn(all),
                         [](const auto& one) { return std::string(core::name(one.param)); });

TEST(Sandbox, JobSpecificSandboxServesOneJob) {
    for (const core::Sandbox sandbox : all) {
        const bool is_of_one = !user_of(sandbox).empty() ||
                               unit_file(sandbox).find("/run/gpuhost/jobs/1-1-1") != std::string::npos;
        EXPECT_FALSE(is_of_one && serves_many(sandbox)) << name(sandbox);
    }
    EXPECT_TRUE(serves_many(core::Sandbox::Devices));
}

TEST(Sandbox, ForeignInputIsReadWithoutPrivileges) {
    EXPECT_NE(store_user, worker_user);
    for (const auto sandbox : {core::Sandbox::Parse, core::Sandbox::Content, core::Sandbox::Compile}) {
        EXPECT_EQ(user_of(sandbox), sandbox == core::Sandbox::Content ? store_user : worker_user);
        const std::string unit = unit_file(sandbox);
        EXPECT_NE(unit.find("CapabilityBoundingSet=\n"), std::string::npos) << unit;
        EXPECT_NE(unit.find("PrivateNetwork=yes\n"), std::string::npos) << unit;
        EXPECT_NE(unit.find("ReadWritePaths=/run/gpuhost/jobs/1-1-1 -/var/lib/gpuhost/staging/1"),
                  std::string::npos)
            << unit;
    }
}

TEST(Sandbox, ContentWritesOnlyPathsOfItsKind) {
    std::string states = "none";
    for (const auto& property : sandbox_properties(
             core::Sandbox::Content, {"-/var/lib/gpuhost/staging/1", "-/var/lib/gpuhost/store/incoming"}))
        if (property.name == "StateDirectory")
            states = base::join(std::get<Words>(property.value), " ");
    EXPECT_EQ(states, "gpuhost/store/incoming");
    EXPECT_EQ(unit_file(core::Sandbox::Content).find("StateDirectory"), std::string::npos)
        << "no state directory in a preflight";
}

TEST(Sandbox, SigningRunsAsRootAndCompilingDoesNot) {
    EXPECT_TRUE(user_of(core::Sandbox::Sign).empty());
    EXPECT_EQ(user_of(core::Sandbox::Compile), worker_user);
    const std::string unit = unit_file(core::Sandbox::Sign);
    for (const char* line :
         {"CapabilityBoundingSet= CAP_DAC_OVERRIDE\n", "PrivateNetwork=yes\n", "ProtectSystem=strict\n",
          "PrivateDevices=yes\n", "RestrictAddressFamilies=AF_UNIX\n"})
        EXPECT_NE(unit.find(line), std::string::npos) << unit;
}

TEST(Sandbox, CompileCanReadKernelHeaders) {
    const std::string unit = unit_file(core::Sandbox::Compile);
    EXPECT_EQ(unit.find("ProtectKernelModules"), std::string::npos) << unit;
    EXPECT_EQ(unit.find("@module"), std::string::npos) << unit;
    EXPECT_NE(unit_file(core::Sandbox::Parse).find("ProtectKernelModules=yes\n"), std::string::npos);
}

TEST(Sandbox, BootWritesImagesButNoModules) {
    const std::string unit = unit_file(core::Sandbox::Boot);
    for (const char* line :
         {"ReadOnlyPaths=/usr /etc\n", "ProtectHome=read-only\n", "PrivateTmp=yes\n", "PrivateNetwork=yes\n"})
        EXPECT_NE(unit.find(line), std::string::npos) << unit;
    for (const char* word : {"ProtectKernelModules", "PrivateDevices", "DevicePolicy", "ProtectClock",
                             "CAP_SYS_MODULE", "ReadWritePaths", "ProtectSystem"})
        EXPECT_EQ(unit.find(word), std::string::npos) << word << ": images need modules and devices";
}

TEST(Sandbox, PreflightsThatAskTheDriverAreApart) {
    EXPECT_TRUE(has_own_preflights(core::Sandbox::Mig));
    EXPECT_TRUE(has_own_preflights(core::Sandbox::Parse));
    EXPECT_FALSE(has_own_preflights(core::Sandbox::Devices));
}

TEST(Sandbox, OnlyModulesSandboxMayLoadModules) {
    for (const auto sandbox : all)
        EXPECT_EQ(unit_file(sandbox).find("CAP_SYS_MODULE") != std::string::npos,
                  sandbox == core::Sandbox::Modules);
}

TEST(Sandbox, OnlySandboxesThatNeedSocketsHaveThem) {
    for (const auto sandbox : all)
        EXPECT_EQ(unit_file(sandbox).find("RestrictAddressFamilies=none\n") == std::string::npos,
                  sandbox == core::Sandbox::Sign || sandbox == core::Sandbox::Units ||
                      sandbox == core::Sandbox::Runtimes || sandbox == core::Sandbox::Devices ||
                      sandbox == core::Sandbox::Mig)
            << core::name(sandbox);
}

} // namespace
} // namespace gpuhost::host
