// SPDX-License-Identifier: Apache-2.0
// Tests the table of options, and the config.toml generated from it.
#include "daemon/base/parse.hpp"
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toolkit/config.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;

ToolkitSettings with(const std::vector<std::string>& options) {
    ToolkitSettings settings;
    settings.options = options;
    return settings;
}

Json value(const ToolkitConfig& config, const std::string& key) {
    return get_option(config.document, key);
}

TEST(ToolkitOptionsTest, OptionsAreInTheManPage) {
    const char* const top = std::getenv("top_srcdir");
    const auto root = base::Root::open(top == nullptr ? "." : top);
    ASSERT_TRUE(root);
    const std::string page = root->read("/man/gpuhostd.conf.5.scd").value_or("");
    for (const ToolkitOption& option : toolkit_options())
        EXPECT_NE(page.find("_" + std::string(option.key) + "_"), std::string::npos) << option.key;
}

TEST(ToolkitOptionsTest, DefaultsHaveTheRightTypes) {
    for (const ToolkitOption& option : toolkit_options()) {
        const auto parsed =
            parse_toolkit_option(std::string(option.key) + "=" + std::string(option.fallback));
        ASSERT_TRUE(parsed) << option.key << ": " << parsed.error().message;
        EXPECT_EQ(parsed->value, get_option(default_toolkit_config(), option.key));
    }
    // The values of NVIDIA's api/config/v1/toml_test.go.
    const Json defaults = default_toolkit_config();
    EXPECT_EQ(get_option(defaults, "nvidia-container-runtime.runtimes"), Json::array({"runc", "crun"}));
    EXPECT_EQ(get_option(defaults, "nvidia-container-runtime.modes.cdi.spec-dirs"),
              Json::array({"/etc/cdi", "/var/run/cdi"}));
    EXPECT_EQ(get_option(defaults, "nvidia-container-runtime.modes.legacy.cuda-compat-mode"), "ldconfig");
    EXPECT_EQ(get_option(defaults, "accept-nvidia-visible-devices-envvar-when-unprivileged"), true);
    EXPECT_EQ(get_option(defaults, "nvidia-container-cli.load-kmods"), true);
}

TEST(ToolkitOptionsTest, InvalidOptionsAreRefused) {
    for (const char* word : {"", "=", "x=1", "nvidia-container-cli=1", "nvidia-container-cli.no-cgroups",
                             "nvidia-container-cli.no-cgroups=", "nvidia-container-cli.no-cgroups=maybe",
                             "nvidia-container-runtime.mode=fast", "nvidia-container-runtime.log-level=loud"})
        EXPECT_FALSE(parse_toolkit_option(word)) << word;
    const auto list = parse_toolkit_option("nvidia-container-cli.environment=A=1,B=2");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->value, Json::array({"A=1", "B=2"}));
    const auto text = parse_toolkit_option("supported-driver-capabilities=compute,utility");
    ASSERT_TRUE(text);
    EXPECT_EQ(text->value, "compute,utility");
}

TEST(ToolkitConfigTest, ConfigNamesOwnProgramsAndLibraries) {
    const auto config = make_toolkit_config({}, {false, false, "usr/lib64", {"nvidia-ctk"}});
    EXPECT_TRUE(config.problems.empty());
    EXPECT_EQ(value(config, "nvidia-ctk.path"), "/var/lib/gpuhost/toolkit/current/usr/bin/nvidia-ctk");
    EXPECT_EQ(value(config, "nvidia-container-cli.environment"),
              Json::array({"LD_LIBRARY_PATH=/var/lib/gpuhost/toolkit/current/usr/lib64"}));
    EXPECT_EQ(value(config, "nvidia-container-cli.ldconfig"), "@/sbin/ldconfig");
    EXPECT_EQ(value(config, "nvidia-container-runtime-hook.path"), "nvidia-container-runtime-hook")
        << "the hook may be the host's";
    const auto more =
        make_toolkit_config(with({"nvidia-container-cli.environment=A=1"}), {false, false, "usr/lib"});
    EXPECT_EQ(value(more, "nvidia-container-cli.environment"),
              Json::array({"A=1", "LD_LIBRARY_PATH=/var/lib/gpuhost/toolkit/current/usr/lib"}));
    const auto bare = make_toolkit_config({}, {true, true, ""});
    EXPECT_EQ(value(bare, "nvidia-container-cli.environment"), Json::array());
    EXPECT_EQ(value(bare, "nvidia-container-cli.ldconfig"), "@/sbin/ldconfig.real");
    EXPECT_EQ(value(bare, "nvidia-container-cli.user"), "root:video");
}

TEST(ToolkitConfigTest, LegacyModeNeedsTheContainerCli) {
    ToolkitSettings settings;
    settings.mode = "legacy";
    EXPECT_EQ(make_toolkit_config(settings, {}).problems.size(), 1U);
    EXPECT_TRUE(make_toolkit_config(settings, {false, false, "", {}, true}).problems.empty());
}

TEST(ToolkitConfigTest, SettingsOverrideTheMode) {
    ToolkitSettings settings =
        with({"nvidia-container-runtime.mode=csv", "features.disable-cuda-compat-lib-hook=yes",
              "nvidia-ctk.path=/opt/nvidia-ctk", "nonsense=1"});
    settings.mode = "cdi";
    const auto config = make_toolkit_config(settings, {});
    EXPECT_EQ(value(config, "nvidia-container-runtime.mode"), "csv");
    EXPECT_EQ(value(config, "features.disable-cuda-compat-lib-hook"), true);
    EXPECT_EQ(value(config, "nvidia-ctk.path"), "/opt/nvidia-ctk");
    ASSERT_EQ(config.problems.size(), 1U);
    EXPECT_NE(config.problems[0].find("'nonsense=1'"), std::string::npos);
}

TEST(ToolkitConfigTest, HostLdconfigWithoutMarkIsRefused) {
    const auto refused = make_toolkit_config(with({"nvidia-container-cli.ldconfig=/sbin/ldconfig"}), {});
    EXPECT_EQ(refused.problems.size(), 1U);
    EXPECT_EQ(value(refused, "nvidia-container-cli.ldconfig"), "@/sbin/ldconfig");
    const auto taken = make_toolkit_config(
        with({"nvidia-container-cli.ldconfig=/sbin/ldconfig", "features.allow-ldconfig-from-container=true"}),
        {});
    EXPECT_TRUE(taken.problems.empty());
    EXPECT_EQ(value(taken, "nvidia-container-cli.ldconfig"), "/sbin/ldconfig");
}

TEST(ToolkitConfigTest, WrittenConfigIsReadBack) {
    const auto config = make_toolkit_config(with({"nvidia-container-cli.environment=A=\"quoted\",B=\\"}), {});
    const auto read = parse_toml(toolkit_config_text(config.document), "config.toml");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, config.document);
}

TEST(ToolkitConfigTest, FileStateIsOwnOutdatedOrForeign) {
    const tests::TempDir host;
    const auto config = make_toolkit_config({}, {false, false, "", {"nvidia-ctk"}});
    const std::string text = toolkit_config_text(config.document);
    EXPECT_EQ(toolkit_config_state(host.root(), text), ConfigState::None);
    host.write(toolkit_config_path, text);
    EXPECT_EQ(toolkit_config_state(host.root(), text), ConfigState::Ours);
    host.write(toolkit_config_path, text + "x = 1\n");
    EXPECT_EQ(toolkit_config_state(host.root(), text), ConfigState::Outdated);
    host.write(toolkit_config_path, "nvidia-container-cli = { no-cgroups = true }\n");
    EXPECT_EQ(toolkit_config_state(host.root(), text), ConfigState::Other);
    const auto others = others_options(host.root(), config.document);
    ASSERT_TRUE(others);
    const auto says = [&](const std::string& word) {
        return std::any_of(others->begin(), others->end(),
                           [&](const std::string& sentence) { return base::starts_with(sentence, word); });
    };
    EXPECT_TRUE(says("nvidia-container-cli.no-cgroups is true, but gpuhost would set false"));
    EXPECT_TRUE(says("nvidia-ctk.path is \"nvidia-ctk\", but")); // NVIDIA's default, if the file has no value
    EXPECT_FALSE(says("disable-require"));
}

TEST(ToolkitConfigTest, AcceptedRequestsAreReadFromTheRuntimesFile) {
    const tests::TempDir host;
    const std::string binary = "/usr/bin/nvidia-container-runtime";
    const auto read = [&](const std::string& program) { return accepted_requests(host.root(), program); };
    AcceptedRequests expected;
    EXPECT_EQ(*read(binary), expected) << "NVIDIA's defaults";
    host.write(toolkit_config_path,
               std::string(envvar_option) + " = false\n" + std::string(mounts_option) + " = true\n");
    expected.envvar = false;
    expected.volume_mounts = true;
    EXPECT_EQ(*read(binary), expected);
    EXPECT_EQ(*read("nvidia-container-runtime"), expected);
    host.write(
        toolkit_config_path,
        toolkit_config_text(make_toolkit_config(with({std::string(mounts_option) + "=true"}), {}).document));
    EXPECT_EQ(*read(binary), (AcceptedRequests{std::string(toolkit_config_path), true, true, true}));
    const std::string beside = "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml";
    host.write(beside, std::string(envvar_option) + " = false\n");
    EXPECT_EQ(*read("/usr/local/nvidia/toolkit/nvidia-container-runtime"),
              (AcceptedRequests{beside, false, false, false}));
    host.write(beside, std::string(envvar_option) + " = \"no\"\n");
    EXPECT_EQ(read("/usr/local/nvidia/toolkit/nvidia-container-runtime").error().message,
              beside + ": " + std::string(envvar_option) + " must be true or false");
    host.write(toolkit_config_path, "x = \n");
    EXPECT_FALSE(read(binary));
}

} // namespace
} // namespace gpuhost::runtime
