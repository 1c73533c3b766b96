// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/config/view.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::array keys{
    SettingKey{"Driver", "Version", SettingType::DriverVersion, "", "", ""},
    SettingKey{"Driver", "Modules", SettingType::Words, "nvidia nvidia_uvm nvidia_modeset", "", ""},
    SettingKey{"Driver", "SigningKey", SettingType::String, "", "", ""},
    SettingKey{"CDI", "Manage", SettingType::Boolean, "yes", "", ""},
};

core::Settings with(const std::vector<std::array<const char*, 4>>& values) {
    core::Settings settings({keys});
    for (const auto& [section, key, value, source] : values)
        EXPECT_TRUE(settings.set(section, key, value, source)) << key;
    return settings;
}

ShownSettings all(const core::Settings& settings) {
    ShownSettings shown;
    for (const core::Setting& setting : settings.all())
        shown.push_back(&setting);
    return shown;
}

TEST(ConfigView, UnsetSettingsAreCommentedOut) {
    EXPECT_EQ(render_settings({}, all(with({}))), "[Driver]\n"
                                                  "#Version=\n"
                                                  "#Modules=nvidia nvidia_uvm nvidia_modeset\n"
                                                  "#SigningKey=\n"
                                                  "\n[CDI]\n"
                                                  "#Manage=yes\n");
}

TEST(ConfigView, SetSettingsNameSourceAndDefault) {
    const core::Settings settings = with({{"Driver", "Version", "550.163.01", "/etc/a.conf:2"},
                                          {"Driver", "Modules", "nvidia", "/etc/a.conf:3"},
                                          {"CDI", "Manage", "true", "the cluster's policy"}});
    EXPECT_EQ(render_settings({}, all(settings)),
              "[Driver]\n"
              "# from /etc/a.conf:2, default: empty\n"
              "Version=550.163.01\n"
              "# from /etc/a.conf:3, default: nvidia nvidia_uvm nvidia_modeset\n"
              "Modules=nvidia\n"
              "#SigningKey=\n"
              "\n[CDI]\n"
              "# from the cluster's policy, the default\n"
              "Manage=true\n");
}

TEST(ConfigView, LongListsContinueOnTerminals) {
    Screen screen;
    screen.terminal = true;
    screen.columns = 30;
    const core::Settings unset = with({});
    const core::Settings set = with({{"Driver", "Modules", "nvidia nvidia_uvm nvidia_modeset", "/a:1"}});
    EXPECT_EQ(render_settings(screen, {&unset.get("Driver", "Modules")}), "[Driver]\n"
                                                                          "#Modules=nvidia nvidia_uvm \\\n"
                                                                          "#    nvidia_modeset\n");
    EXPECT_EQ(render_settings(screen, {&set.get("Driver", "Modules")}), "[Driver]\n"
                                                                        "# from /a:1, the default\n"
                                                                        "Modules=nvidia nvidia_uvm \\\n"
                                                                        "    nvidia_modeset\n");
}

TEST(ConfigView, PinsAreMasked) {
    const std::string uri =
        "pkcs11:token=site;pin-value=1234;object=modules;pin-value=5678?a=b&pin-value=1234";
    const core::Settings settings = with({{"Driver", "SigningKey", uri.c_str(), "/etc/a.conf:2"}});
    const ShownSettings shown{&settings.get("Driver", "SigningKey")};
    const std::string text = render_settings({}, shown);
    EXPECT_NE(text.find("SigningKey=pkcs11:token=site;pin-value=[masked];object=modules;pin-value=[masked]&"
                        "pin-value=[masked]\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(base::dump(settings_json(shown)).find("1234"), std::string::npos);
}

TEST(ConfigView, ControlCharactersOfValuesAreReplaced) {
    const core::Settings settings = with({{"Driver", "SigningKey", "\x1b[2J", "/etc/a.conf:2"}});
    const std::string text = render_settings({}, {&settings.get("Driver", "SigningKey")});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ConfigView, JsonMarksChangedSettings) {
    const core::Settings settings =
        with({{"Driver", "Version", "550.163.01", "/etc/a.conf:2"}, {"CDI", "Manage", "1", "/etc/a.conf:4"}});
    const base::Json json =
        settings_json({&settings.get("Driver", "Version"), &settings.get("CDI", "Manage")});
    EXPECT_EQ(json[0], base::Json({{"section", "Driver"},
                                   {"key", "Version"},
                                   {"value", "550.163.01"},
                                   {"default", ""},
                                   {"changed", true},
                                   {"source", "/etc/a.conf:2"}}));
    EXPECT_EQ(json[1]["changed"], false);
}

TEST(ConfigView, MistakesBeginWithFileAndLine) {
    EXPECT_EQ(render_problems({{"/etc/a.conf", 3, "unknown key 'Foo' in [CDI]", "did you mean 'Far'?"},
                               {"/etc/b.conf", 0, "Is a directory", ""}}),
              "/etc/a.conf:3: unknown key 'Foo' in [CDI] (did you mean 'Far'?)\n"
              "/etc/b.conf: Is a directory\n");
}

TEST(ConfigView, CheckJsonHasFilesAndMistakes) {
    const base::Json json =
        check_json({{"/etc/a.conf", ""}}, {{"/etc/a.conf", 3, "unknown section [X]", ""}});
    EXPECT_EQ(json, base::Json::parse(R"({"files": ["/etc/a.conf"], "problems": [
        {"file": "/etc/a.conf", "line": 3, "text": "unknown section [X]", "hint": ""}]})"));
}

} // namespace
} // namespace gpuhost::ctl
