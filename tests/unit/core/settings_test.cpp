// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::core {
namespace {

std::string small(std::string_view value) {
    return value.size() > 2 ? "more than 99" : "";
}

constexpr std::array keys{
    SettingKey{"Driver", "Version", SettingType::DriverVersion, "", "", "wanted version"},
    SettingKey{"Driver", "HolderPolicy", SettingType::Choice, "refuse", "refuse wait terminate",
               "what to do"},
    SettingKey{"Driver", "HolderTimeout", SettingType::Span, "10min", "", "how long"},
    SettingKey{"Driver", "Modules", SettingType::Words, "nvidia nvidia_uvm", "", "modules"},
    SettingKey{"Driver", "Flavour", SettingType::String, "any", "", "kind of modules", "Flavor"},
    SettingKey{"CDI", "Manage", SettingType::Boolean, "yes", "", "write specifications"},
    SettingKey{"Log", "Verbose", SettingType::Boolean, "no", "", "more"},
    SettingKey{"Log", "Size", SettingType::Unsigned, "10", "", "size", "", small},
};

constexpr std::array other_keys{
    SettingKey{"Toolkit", "Version", SettingType::ToolkitVersion, "auto", "", "wanted version"}};

class SettingsTest : public testing::Test {
  protected:
    LoadedSettings load() { return load_settings(root_, {keys}); }
    std::vector<std::string> problems() {
        std::vector<std::string> texts;
        for (const SettingsProblem& problem : load().problems)
            texts.push_back(to_string(problem));
        return texts;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(SettingsTest, WithoutFilesDefaultsApply) {
    const LoadedSettings loaded = load();
    EXPECT_TRUE(loaded.problems.empty());
    EXPECT_EQ(loaded.settings.string("Driver", "HolderPolicy"), "refuse");
    EXPECT_EQ(loaded.settings.span("Driver", "HolderTimeout"), std::chrono::minutes(10));
    EXPECT_EQ(loaded.settings.get("Driver", "Version").source, "default");
}

TEST_F(SettingsTest, DropInsOverrideTheFirstMainFile) {
    directory_.write("/usr/lib/gpuhost/gpuhostd.conf", "[Driver]\nHolderPolicy=wait\nVersion=1.1\n");
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Driver]\nHolderPolicy=terminate\n");
    directory_.write("/usr/lib/gpuhost/gpuhostd.conf.d/50-site.conf", "[Driver]\nHolderTimeout=1s\n");
    directory_.write("/run/gpuhost/gpuhostd.conf.d/60-now.conf", "[Driver]\nHolderTimeout=2s\n");
    const LoadedSettings loaded = load();
    EXPECT_EQ(loaded.settings.string("Driver", "HolderPolicy"), "terminate");
    EXPECT_EQ(loaded.settings.string("Driver", "Version"), "");
    EXPECT_EQ(loaded.settings.span("Driver", "HolderTimeout"), std::chrono::seconds(2));
    EXPECT_EQ(loaded.settings.get("Driver", "HolderTimeout").source,
              "/run/gpuhost/gpuhostd.conf.d/60-now.conf:2");
}

TEST_F(SettingsTest, DropInMasksItsNameInLaterDirectories) {
    directory_.write("/usr/lib/gpuhost/gpuhostd.conf.d/50-x.conf", "[Driver]\nHolderPolicy=wait\n");
    directory_.write("/etc/gpuhost/gpuhostd.conf.d/50-x.conf", "[Driver]\nHolderTimeout=3s\n");
    EXPECT_EQ(load().settings.string("Driver", "HolderPolicy"), "refuse");
    ASSERT_TRUE(root_.remove("/etc/gpuhost/gpuhostd.conf.d/50-x.conf"));
    ASSERT_TRUE(root_.symlink_atomic("/dev/null", "/etc/gpuhost/gpuhostd.conf.d/50-x.conf"));
    EXPECT_EQ(load().settings.string("Driver", "HolderPolicy"), "refuse");
    ASSERT_TRUE(root_.remove("/etc/gpuhost/gpuhostd.conf.d/50-x.conf"));
    EXPECT_EQ(load().settings.string("Driver", "HolderPolicy"), "wait");
}

TEST_F(SettingsTest, BadLinesAreReportedAndOthersApply) {
    directory_.write(
        "/etc/gpuhost/gpuhostd.conf",
        "[Driver]\nHolderPolicy=ask\nFoo=1\nHolderTimeout=soon\nVersion=../../etc\n[Log]\nVerbose=yes\n");
    const LoadedSettings loaded = load();
    EXPECT_EQ(
        problems(),
        (std::vector<std::string>{
            "/etc/gpuhost/gpuhostd.conf:2: HolderPolicy='ask': not one of: refuse, wait, terminate, ignoring",
            "/etc/gpuhost/gpuhostd.conf:3: unknown key 'Foo' in [Driver], ignoring",
            "/etc/gpuhost/gpuhostd.conf:4: HolderTimeout='soon': not a time span (as '30s', '5min'), "
            "ignoring",
            "/etc/gpuhost/gpuhostd.conf:5: Version='../../etc': not off, preinstalled or a driver version "
            "(as '550.163.01'), "
            "ignoring"}));
    EXPECT_TRUE(loaded.settings.boolean("Log", "Verbose"));
    EXPECT_EQ(loaded.settings.string("Driver", "HolderPolicy"), "refuse");
}

TEST_F(SettingsTest, EmptyValueRestoresTheDefault) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Driver]\nHolderPolicy=wait\nHolderPolicy=\n");
    const LoadedSettings loaded = load();
    EXPECT_TRUE(loaded.problems.empty());
    EXPECT_EQ(loaded.settings.string("Driver", "HolderPolicy"), "refuse");
}

TEST_F(SettingsTest, EmptyAssignmentEmptiesAList) {
    EXPECT_EQ(load().settings.words("Driver", "Modules").size(), 2U);
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Driver]\nModules=nvidia_drm\nModules=\n");
    EXPECT_TRUE(load().settings.words("Driver", "Modules").empty());
    directory_.write("/etc/gpuhost/gpuhostd.conf.d/1.conf", "[Driver]\nModules=nvidia\n");
    EXPECT_EQ(load().settings.words("Driver", "Modules"), std::vector<std::string>{"nvidia"});
}

TEST_F(SettingsTest, AlternativeSpellingOfAKeyIsAccepted) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Driver]\nFlavor=open\n");
    const LoadedSettings loaded = load();
    EXPECT_TRUE(loaded.problems.empty());
    EXPECT_EQ(loaded.settings.string("Driver", "Flavour"), "open");
}

TEST_F(SettingsTest, FormerNameOfAKeyIsAccepted) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[CDI]\nEnable=no\n");
    const LoadedSettings loaded = load();
    EXPECT_TRUE(loaded.problems.empty());
    EXPECT_FALSE(loaded.settings.boolean("CDI", "Manage"));
}

TEST_F(SettingsTest, UnknownNamesSuggestTheNearest) {
    directory_.write("/etc/gpuhost/gpuhostd.conf",
                     "[Driver]\nHolderPolcy=wait\nVerbose=yes\nHolderPolicy=Wiat\n[DRIVER]\nVersion=1.1\n"
                     "Flavour=open\n[Zzz]\n");
    EXPECT_EQ(problems(),
              (std::vector<std::string>{
                  "/etc/gpuhost/gpuhostd.conf:2: unknown key 'HolderPolcy' in [Driver], ignoring (did you "
                  "mean 'HolderPolicy'?)",
                  "/etc/gpuhost/gpuhostd.conf:3: unknown key 'Verbose' in [Driver], ignoring (it belongs in "
                  "[Log])",
                  "/etc/gpuhost/gpuhostd.conf:4: HolderPolicy='Wiat': not one of: refuse, wait, terminate, "
                  "ignoring (did you mean 'wait'?)",
                  "/etc/gpuhost/gpuhostd.conf:5: unknown section [DRIVER], ignoring (did you mean "
                  "[Driver]?)",
                  "/etc/gpuhost/gpuhostd.conf:8: unknown section [Zzz], ignoring"}));
}

TEST_F(SettingsTest, KeyOfSeveralSectionsNamesThem) {
    const Settings settings({keys, other_keys});
    EXPECT_EQ(settings.unknown("CDI", "Version").hint, "it belongs in [Driver] or [Toolkit]");
}

TEST_F(SettingsTest, ProblemsAreInTheOrderOfLines) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Log]\nFoo=1\nnonsense\nBar=1\n");
    EXPECT_EQ(problems(), (std::vector<std::string>{
                              "/etc/gpuhost/gpuhostd.conf:2: unknown key 'Foo' in [Log], ignoring",
                              "/etc/gpuhost/gpuhostd.conf:3: neither [Section] nor Key=Value, ignoring",
                              "/etc/gpuhost/gpuhostd.conf:4: unknown key 'Bar' in [Log], ignoring"}));
}

TEST_F(SettingsTest, MistakeOfTheRightTypeTakesEffect) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[Log]\nSize=100\n");
    EXPECT_EQ(problems(), std::vector<std::string>{"/etc/gpuhost/gpuhostd.conf:2: Size=: more than 99"});
    EXPECT_EQ(load().settings.number("Log", "Size"), 100U);
    EXPECT_TRUE(load().rejected.empty());
}

TEST_F(SettingsTest, RejectedKeyKeepsItsCurrentValue) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[CDI]\nManage=no\n[Log]\nSize=20\n");
    const Settings current = load().settings;
    directory_.write("/etc/gpuhost/gpuhostd.conf", "[CDI]\nManage=perhaps\n[Log]\nSize=30\n");
    EXPECT_TRUE(load().settings.boolean("CDI", "Manage")) << "the default";
    const Settings again = reload_settings(root_, {keys}, current).settings;
    EXPECT_FALSE(again.boolean("CDI", "Manage"));
    EXPECT_EQ(again.get("CDI", "Manage").source, "/etc/gpuhost/gpuhostd.conf:2");
    EXPECT_EQ(again.number("Log", "Size"), 30U);
}

TEST_F(SettingsTest, MeaningDecidesWhetherValueIsDefault) {
    directory_.write("/etc/gpuhost/gpuhostd.conf",
                     "[Driver]\nHolderTimeout=600s\nModules=nvidia  nvidia_uvm\nVersion=1.1\n"
                     "[CDI]\nManage=true\n[Log]\nVerbose=1\n");
    const Settings settings = load().settings;
    EXPECT_TRUE(settings.get("Driver", "HolderTimeout").is_default());
    EXPECT_TRUE(settings.get("Driver", "Modules").is_default());
    EXPECT_TRUE(settings.get("CDI", "Manage").is_default());
    EXPECT_FALSE(settings.get("Driver", "Version").is_default());
    EXPECT_FALSE(settings.get("Log", "Verbose").is_default());
}

TEST_F(SettingsTest, UnreadableFileIsReportedWithoutALine) {
    ASSERT_TRUE(root_.make_directories("/etc/gpuhost/gpuhostd.conf"));
    EXPECT_EQ(problems(),
              std::vector<std::string>{"/etc/gpuhost/gpuhostd.conf: Is a directory, ignoring the file"});
}

TEST_F(SettingsTest, TooLargeFileIsReportedAndOthersApply) {
    directory_.write("/etc/gpuhost/gpuhostd.conf", std::string(300'000, '#'));
    directory_.write("/etc/gpuhost/gpuhostd.conf.d/1.conf", "[Log]\nVerbose=1\n");
    const LoadedSettings loaded = load();
    ASSERT_EQ(loaded.problems.size(), 1U);
    EXPECT_TRUE(loaded.settings.boolean("Log", "Verbose"));
}

TEST_F(SettingsTest, JsonForWorkersHasEverySetting) {
    EXPECT_EQ(load().settings.to_json()["Driver"]["HolderTimeout"], "10min");
}

} // namespace
} // namespace gpuhost::core
