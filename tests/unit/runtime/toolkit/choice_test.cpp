// SPDX-License-Identifier: Apache-2.0
// Tests the choice of the toolkit, and versions in names of files.
#include "daemon/base/parse.hpp"
#include "daemon/runtime/toolkit/choice.hpp"
#include "daemon/runtime/toolkit/component.hpp"
#include "daemon/runtime/toolkit/package.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;

ToolkitSet set_of(const std::string& version, std::int64_t published = 0) {
    ToolkitSet set;
    set.manifest.version = version;
    set.digest = std::string(64, 'a');
    set.path = std::string(toolkit_directory) + "/" + version + "/" + set.digest;
    set.published_us = published;
    return set;
}

ToolkitStore store_of(const std::vector<std::string>& versions) {
    ToolkitStore store;
    for (const std::string& version : versions)
        store.sets.push_back(set_of(version));
    return store;
}

ToolkitSettings wants(const std::string& version, const std::string& directory = {}) {
    ToolkitSettings settings;
    settings.version = version;
    settings.directory = directory;
    return settings;
}

TEST(ToolkitVersionTest, CandidatesPrecedeReleases) {
    const std::vector<std::string> ordered{"1.9.0",  "1.17.9", "1.18.0~rc.2", "1.18.0~rc.10",
                                           "1.18.0", "1.18.1", "1.20"};
    for (std::size_t i = 0; i < ordered.size(); ++i)
        for (std::size_t j = 0; j < ordered.size(); ++j)
            EXPECT_EQ(compare_toolkit_versions(ordered[i], ordered[j]), i < j   ? -1
                                                                        : i > j ? 1
                                                                                : 0)
                << ordered[i] << " " << ordered[j];
}

TEST(ToolkitVersionTest, UnsafeDirectoryNamesAreRefused) {
    for (const char* good : {"1.18.1", "1.18.0~rc.2", "1.20"})
        EXPECT_TRUE(base::is_toolkit_version(good)) << good;
    for (const char* bad :
         {"", "1", "1.18.1-1", "../1.2", "1.2/3", "1.2~rc.", "1.2~rc.x", "1.2~", "1.2~rc.1234", "current"})
        EXPECT_FALSE(base::is_toolkit_version(bad)) << bad;
}

TEST(ToolkitVersionTest, VersionIsReadFromArchiveNames) {
    EXPECT_EQ(version_in_name("nvidia-container-toolkit_1.18.1_deb_amd64.tar.gz"), "1.18.1");
    EXPECT_EQ(version_in_name("nvidia-container-toolkit-1.18.1.tar.gz"), "1.18.1");
    EXPECT_EQ(version_in_name("toolkit-v1.18.1.tgz"), "1.18.1");
    EXPECT_EQ(version_in_name("nvidia-container-toolkit-1.18.0-rc.2.tar.gz"), "1.18.0~rc.2");
    EXPECT_EQ(version_in_name("nvidia-container-toolkit-1.18.0~rc.10_amd64.tar"), "1.18.0~rc.10");
    EXPECT_EQ(version_in_name("toolkit-x86_64.tar.gz"), "");
    EXPECT_EQ(version_in_name("toolkit1.18.1.tar"), "");
    EXPECT_EQ(toolkit_version("1.18.0", "0.1.rc.2"), "1.18.0~rc.2");
    EXPECT_EQ(toolkit_version("1.18.1", "1"), "1.18.1");
    EXPECT_EQ(toolkit_version("x", "1"), "");
}

TEST(ToolkitChoiceTest, DefaultIsTheNewestRelease) {
    const auto choice =
        choose_toolkit(wants("auto"), store_of({"1.20.0~rc.1", "1.18.1", "1.17.9"}), "", true);
    EXPECT_EQ(choice.source, ToolkitSource::Store);
    EXPECT_EQ(choice.version, "1.18.1");
    EXPECT_EQ(choice.directory, "/var/lib/gpuhost/toolkit/current/usr/bin");
    EXPECT_EQ(choice.programs, choice.path + "/usr/bin");
    EXPECT_EQ(choose_toolkit(wants("auto"), store_of({"1.20.0~rc.1"}), "", true).version, "1.20.0~rc.1");
}

TEST(ToolkitChoiceTest, EmptyStoreFallsBackToHostThenOff) {
    const auto own = choose_toolkit(wants("auto"), {}, "", true);
    EXPECT_EQ(own.source, ToolkitSource::Preinstalled);
    EXPECT_EQ(own.directory, "/usr/bin");
    const auto none = choose_toolkit(wants("auto"), {}, "", false);
    EXPECT_EQ(none.source, ToolkitSource::Off);
    EXPECT_EQ(none.directory, "");
    const auto elsewhere =
        choose_toolkit(wants("auto", "/usr/local/nvidia/toolkit"), store_of({"1.18.1"}), "", true);
    EXPECT_EQ(elsewhere.source, ToolkitSource::Preinstalled);
    EXPECT_EQ(elsewhere.directory, "/usr/local/nvidia/toolkit");
}

TEST(ToolkitChoiceTest, ExplicitSettingsAreUsed) {
    const ToolkitStore store = store_of({"1.18.1", "1.17.9"});
    EXPECT_EQ(choose_toolkit(wants("off"), store, "", true).source, ToolkitSource::Off);
    EXPECT_EQ(choose_toolkit(wants("preinstalled"), store, "", false).directory, "/usr/bin");
    EXPECT_EQ(choose_toolkit(wants("1.17.9"), store, "", true).version, "1.17.9");
    const auto absent = choose_toolkit(wants("9.9.9"), store, store.sets[1].path, true);
    EXPECT_NE(absent.problem.find("toolkit 9.9.9 is required"), std::string::npos);
    EXPECT_EQ(absent.version, "1.17.9") << "the selection is kept";
}

// --- planning

Json observed_of(const std::string& wanted, const std::string& selected, const std::string& state) {
    const auto path = [](const std::string& version) { return version.empty() ? "" : set_of(version).path; };
    return {{"wanted", {{"source", "store"}, {"version", wanted}, {"path", path(wanted)}, {"problem", ""}}},
            {"selected", selected},
            {"current", path(selected)},
            {"config", {{"path", "/etc/nvidia-container-runtime/config.toml"}, {"state", state}}},
            {"store", to_json(store_of({"1.18.1", "1.17.9"}), path(selected))}};
}

class ToolkitPlanTest : public testing::Test {
  protected:
    [[nodiscard]] core::Plan plan(const Json& observed, const Json& request = Json::object()) const {
        const core::Settings settings({toolkit_setting_keys(), runtime_setting_keys()});
        return component_.plan({settings, request}, observed);
    }
    tests::TempDir host_;
    base::Root root_ = host_.root();
    ToolkitComponent component_{root_};
};

TEST_F(ToolkitPlanTest, SelectsOnlyTheChosenToolkit) {
    EXPECT_TRUE(plan(observed_of("1.18.1", "1.18.1", "ours")).steps.empty());
    EXPECT_TRUE(plan(observed_of("1.18.1", "1.18.1", "other")).steps.empty())
        << "a foreign file is not a reason";
    EXPECT_TRUE(plan(observed_of("", "", "none")).steps.empty());
    EXPECT_TRUE(plan(observed_of("", "", "other")).steps.empty());
    for (const auto& [wanted, selected, state] : {std::array<std::string, 3>{"1.18.1", "", "none"},
                                                  {"1.18.1", "1.17.9", "ours"},
                                                  {"1.18.1", "1.18.1", "outdated"},
                                                  {"1.18.1", "1.18.1", "none"},
                                                  {"", "1.18.1", "none"},
                                                  {"", "", "ours"}}) {
        const auto made = plan(observed_of(wanted, selected, state));
        ASSERT_EQ(made.steps.size(), 1U) << wanted << selected << state;
        EXPECT_EQ(made.steps[0].kind, "toolkit.select");
        EXPECT_EQ(base::string_or(made.steps[0].args, "path", "?"),
                  wanted.empty() ? "" : set_of(wanted).path);
    }
}

TEST_F(ToolkitPlanTest, SelectedToolkitIsNotRemoved) {
    const Json observed = observed_of("1.18.1", "1.18.1", "ours");
    const auto remove = [&](const std::string& version) {
        return plan(observed, {{"toolkit", {{"request", "remove"}, {"version", version}}}});
    };
    EXPECT_EQ(remove("1.18.1").problems.at(0).code, base::Errc::InUse);
    EXPECT_EQ(remove("9.9.9").problems.at(0).code, base::Errc::NotFound);
    EXPECT_EQ(remove("../x").problems.at(0).code, base::Errc::NotFound);
    const auto made = remove("1.17.9");
    ASSERT_EQ(made.steps.size(), 2U);
    EXPECT_TRUE(made.steps[1].forward);
    EXPECT_TRUE(plan(observed, {{"driver", {{"request", "swap"}}}}).steps.empty())
        << "a request for another subsystem";
}

TEST_F(ToolkitPlanTest, StartKeepsTheSelectedToolkit) {
    EXPECT_TRUE(component_.converge_at_start(observed_of("1.18.1", "1.18.1", "outdated")));
    EXPECT_FALSE(component_.converge_at_start(observed_of("1.18.1", "1.17.9", "ours")))
        << "another version needs a person";
    EXPECT_FALSE(component_.converge_at_start(observed_of("", "1.17.9", "ours")));
    EXPECT_TRUE(component_.converge_at_start(observed_of("", "1.17.9", "none"))) << "only the link is left";
}

TEST(ToolkitChoiceTest, UnreadableSelectedToolkitIsKept) {
    ToolkitStore store = store_of({"1.17.9"});
    const std::string current = set_of("1.18.1").path;
    store.problems.push_back(current + "/manifest.json: input/output error");
    const ToolkitChoice choice = choose_toolkit(wants("auto"), store, current, true);
    EXPECT_NE(choice.problem.find("can't be read"), std::string::npos) << choice.problem;
    EXPECT_EQ(choice.directory, std::string(toolkit_current) + "/usr/bin");
    EXPECT_EQ(choose_toolkit(wants("auto"), store, "", true).version, "1.17.9");
}

} // namespace
} // namespace gpuhost::runtime
