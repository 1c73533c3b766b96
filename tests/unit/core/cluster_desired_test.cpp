// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/settings.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::core {
namespace {

using base::Json;

constexpr std::array keys{
    SettingKey{"Toolkit", "Version", SettingType::ToolkitVersion, "auto", "", "wanted version"}};

TEST(ClusterDesired, JsonRoundTripKeepsVersions) {
    for (const Json& value :
         {Json::object(), Json{{"toolkit", "1.17.7"}}, Json{{"toolkit", "1.17.8"}, {"driver", "550.163.01"}},
          Json{{"toolkit", "1.19.0~rc.1"}}}) {
        const auto desired = cluster_desired_from_json(value);
        ASSERT_TRUE(desired) << value;
        EXPECT_EQ(to_json(*desired), value);
    }
    EXPECT_EQ(cluster_desired_from_json({{"toolkit", nullptr}}), ClusterDesired());
}

TEST(ClusterDesired, InvalidDocumentsAreRefused) {
    for (const Json& value : {Json(), Json::array(), Json("off"), Json{{"toolkit", "auto"}},
                              Json{{"toolkit", "off"}}, Json{{"toolkit", "preinstalled"}},
                              Json{{"toolkit", ""}}, Json{{"toolkit", "1.17.8\n[Driver]\nVersion=1.1"}},
                              Json{{"toolkit", 1}}, Json{{"driver", "latest"}}, Json{{"driver", "../1.1"}},
                              Json{{"Toolkit", "1.17.8"}}, Json{{"settings", Json::object()}}})
        EXPECT_FALSE(cluster_desired_from_json(value)) << value;
}

TEST(ClusterDesired, LocalSettingsOverrideIt) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    const auto version = [&] { return load_settings(root, {keys}).settings.get("Toolkit", "Version"); };
    directory.write(std::string(cluster_desired_file), settings_text({"1.17.7", "550.163.01"}));
    EXPECT_EQ(version().value, "1.17.7");
    EXPECT_EQ(version().source, cluster_policy_source);
    EXPECT_EQ(settings_files(root).front().path, cluster_desired_file);
    EXPECT_TRUE(load_settings(root, {keys}).problems.empty());
    directory.write("/usr/lib/gpuhost/gpuhostd.conf.d/10-site.conf", "[Toolkit]\nVersion=1.17.8\n");
    EXPECT_EQ(version().value, "1.17.8");
    directory.write("/etc/gpuhost/gpuhostd.conf.d/20-host.conf", "[Toolkit]\nVersion=\n");
    EXPECT_EQ(version().value, "auto") << "an administrator's empty value restores the default";
    EXPECT_NE(version().source, cluster_policy_source);
}

TEST(ClusterDesired, SettingsFileIsReadBack) {
    for (const char* toolkit : {"1.17.8", "1.19.0~rc.1", ""})
        EXPECT_EQ(cluster_desired_from_settings(settings_text({toolkit, "550.163.01"})),
                  (ClusterDesired{toolkit, ""}));
    EXPECT_EQ(cluster_desired_from_settings("[Toolkit]\nVersion=off\n[Driver]\nVersion=1.1\n"),
              ClusterDesired());
    EXPECT_EQ(cluster_desired_from_settings("\x01["), ClusterDesired());
}

} // namespace
} // namespace gpuhost::core
