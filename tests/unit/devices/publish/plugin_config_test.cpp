// SPDX-License-Identifier: Apache-2.0
// The valid files are those of the documentation and the tests of NVIDIA's device plugin 0.20.
#include "daemon/devices/publish/plugin_config.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Texts = std::vector<std::string>;

DevicesSettings settings() {
    DevicesSettings made;
    made.resource = "nvidia.com/gpu";
    made.kubelet_root = "/var/lib/kubelet";
    made.config_file = "/a.yaml";
    return made;
}

PluginConfig parse(const std::string& text) {
    return parse_plugin_config(text, settings());
}

Texts problems(const std::string& text) {
    Texts texts;
    for (const core::SettingsProblem& problem : parse(text).problems)
        texts.push_back(core::to_string(problem));
    return texts;
}

/// Returns a file with one shared resource, and more lines of it.
std::string slices(const std::string& resource, const std::string& above = "") {
    return "version: v1\nsharing:\n  timeSlicing:\n" + above + "    resources:\n    - " + resource + "\n";
}

TEST(PluginConfig, SharedResourcesAreRead) {
    const PluginConfig config =
        parse(slices("name: nvidia.com/gpu\n      replicas: 10\n    - name: mig-1g.5gb\n      replicas: 2"));
    EXPECT_EQ(config.mistake(), "");
    EXPECT_TRUE(config.problems.empty());
    EXPECT_EQ(config.sharing, (Sharing{{{"nvidia.com/gpu", 10}, {"nvidia.com/mig-1g.5gb", 2}}}));
}

TEST(PluginConfig, FlagsOfTheSharingAreRead) {
    const std::string gpu = "{name: gpu, replicas: 4, devices: all, rename: gpu.shared}";
    const PluginConfig config =
        parse("flags: {plugin: {sharedDevicesAllocationPolicy: packed}}\n" +
              slices(gpu, "    renameByDefault: true\n    failRequestsGreaterThanOne: true\n"));
    EXPECT_TRUE(config.problems.empty()) << config.mistake();
    EXPECT_EQ(config.sharing, (Sharing{{{"nvidia.com/gpu", 4}}, true, true, true}));
}

TEST(PluginConfig, FileWithoutSharingSharesNothing) {
    for (const char* text :
         {"version: v1\n", "{}", "{\"version\": \"v1\", \"sharing\": {\"mps\": null}}",
          "version: v1\nflags:\n  migStrategy: none\n  failOnInitError: true\n  nvidiaDriverRoot: /\n"
          "  plugin:\n    passDeviceSpecs: false\n    deviceListStrategy: [cdi-cri]\n    deviceIDStrategy: "
          "uuid\n"
          "  gfd:\n    oneshot: false\n    sleepInterval: 60s\nimex: {channelIDs: []}\n"}) {
        EXPECT_EQ(problems(text), Texts()) << text;
        EXPECT_EQ(parse(text).sharing, Sharing()) << text;
    }
}

TEST(PluginConfig, RefusedFieldsHaveTheirLine) {
    EXPECT_EQ(problems(slices("name: gpu\n      replicas: 1")),
              Texts{"/a.yaml:6: sharing.timeSlicing.resources[0].replicas must be a number from 2 to 256"});
    EXPECT_EQ(
        problems(slices("name: gpu\n      replica: 2")),
        Texts{"/a.yaml:6: sharing.timeSlicing.resources[0].replica is not a field of NVIDIA's device plugin "
              "(did you mean 'replicas'?)"});
    EXPECT_EQ(problems("sharing:\n  mps:\n    resources: [{name: gpu, replicas: 2}]\n"),
              Texts{"/a.yaml:2: sharing.mps is not supported (share by sharing.timeSlicing)"});
    EXPECT_EQ(problems("version: v1\nflags:\n  migStrategy: mixed\n"),
              Texts{"/a.yaml:3: flags.migStrategy is 'mixed', but section [Devices] has MigStrategy=none"});
    EXPECT_EQ(problems("a: b\n- c\n").size(), 1U);
    EXPECT_EQ(problems("a: b\n- c\n")[0].rfind("/a.yaml:2: ", 0), 0U) << problems("a: b\n- c\n")[0];
}

TEST(PluginConfig, InvalidValuesAreRefused) {
    for (const std::string& text :
         {std::string("version: v2"),
          std::string("version: 1"),
          std::string("[]"),
          std::string("a"),
          std::string("---\nversion: v1\n---\nversion: v1\n"),
          std::string("sharing: []"),
          std::string("sharing: {timeSlicing: {}}"),
          std::string("sharing: {timeSlicing: null}"),
          std::string("sharing: {timeslicing: {}}"),
          std::string("flags: {migStrategy: all}"),
          std::string("flags: {plugin: {sharedDevicesAllocationPolicy: best}}"),
          std::string("flags: {plugins: {}}"),
          slices("name: gpu"),
          slices("replicas: 2"),
          slices("{name: gpu, replicas: '2'}"),
          slices("{name: gpu, replicas: -2}"),
          slices("{name: gpu, replicas: 257}"),
          slices("{name: a/b/c, replicas: 2}"),
          slices("{name: 1, replicas: 2}"),
          slices("{name: gpu, replicas: 2, devices: some}"),
          slices("{name: gpu, replicas: 2, devices: 0}"),
          slices("{name: gpu, replicas: 2, devices: [GPU-1]}"),
          slices("{name: gpu, replicas: 2, devices: ['0:a']}"),
          slices("{name: gpu, replicas: 2, rename: ''}"),
          slices("{name: gpu, replicas: 2}", "    renameByDefault: yes\n"),
          slices("{name: gpu, replicas: 2}\n    - {name: nvidia.com/gpu, replicas: 3}")}) {
        const PluginConfig config = parse(text);
        EXPECT_EQ(config.mistake().rfind("/a.yaml", 0), 0U) << text;
    }
    EXPECT_NE(parse_plugin_config("flags: [a\n", settings()).mistake(), "");
}

TEST(PluginConfig, FileWithoutDocumentIsRefused) {
    for (const char* text : {"", "\n", "# version: v1\n", "null\n", "---\n...\n"})
        EXPECT_EQ(problems(text), Texts{"/a.yaml: is empty (without sharing: version: v1)"}) << text;
}

TEST(PluginConfig, FileThatSharesNoGpuIsRefused) {
    EXPECT_EQ(
        parse(slices("{name: nvidia.com/gpus, replicas: 4}")).mistake(),
        "/a.yaml:4: sharing.timeSlicing.resources has no 'nvidia.com/gpu' and no MIG profile, so that no "
        "GPU would be shared");
    EXPECT_EQ(parse(slices("{name: mig-1g.5gb, replicas: 4}")).mistake(), "") << "hosts share the file";
    EXPECT_EQ(problems(slices("{name: gpu, replicas: 1}")).size(), 1U) << "one mistake";
}

TEST(PluginConfig, FieldsWithoutEffectAreNamed) {
    EXPECT_EQ(
        problems(slices("name: gpu\n      replicas: 2\n      rename: slice\n      devices: [0, '0:1', "
                        "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763, MIG-b1028956-cfa2-0990-bf4a-5da9abb51763, "
                        "MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3/0]")),
        (Texts{"/a.yaml:7: sharing.timeSlicing.resources[0].rename has no effect, as in NVIDIA's device "
               "plugin: only "
               "renameByDefault renames, ignoring",
               "/a.yaml:8: sharing.timeSlicing.resources[0].devices has no effect, as in NVIDIA's device "
               "plugin: all "
               "devices are shared, ignoring"}));
    EXPECT_EQ(problems("flags:\n  gdsEnabled: true\n  nvidiaDevRoot: /run\n"),
              (Texts{"/a.yaml:2: flags.gdsEnabled 'true' has no effect here, ignoring",
                     "/a.yaml:3: flags.nvidiaDevRoot '/run' has no effect here, ignoring"}));
    EXPECT_EQ(problems("resources:\n  gpus:\n  - {pattern: 'A100*', name: a100}\n"),
              Texts{"/a.yaml:2: resources.gpus has no effect here, ignoring"});
    const PluginConfig other =
        parse(slices("{name: vgpu, replicas: 2, devices: 3}\n    - {name: gpu, replicas: 2}"));
    EXPECT_EQ(other.mistake(), "");
    EXPECT_EQ(other.problems.size(), 2U);
}

TEST(PluginConfig, OtherListStrategyNamesTheSetting) {
    const auto problems_of = [](const std::string& value, const ListStrategies& strategies) {
        DevicesSettings made = settings();
        made.strategies = strategies;
        const PluginConfig config =
            parse_plugin_config("flags: {plugin: {deviceListStrategy: " + value + "}}\n", made);
        EXPECT_EQ(config.mistake(), "");
        return config.problems.empty() ? "" : core::to_string(config.problems.at(0));
    };
    const ListStrategies both{ListStrategy::cdi_cri, ListStrategy::envvar};
    EXPECT_EQ(problems_of("[envvar, cdi-cri]", both), "");
    EXPECT_EQ(problems_of("envvar", {ListStrategy::envvar}), "");
    EXPECT_EQ(problems_of("null", both), "");
    EXPECT_EQ(problems_of("envvar", {ListStrategy::cdi_cri}),
              "/a.yaml:1: flags.plugin.deviceListStrategy is 'envvar', but section [Devices] has "
              "DeviceListStrategy=cdi-cri, ignoring (set DeviceListStrategy=envvar)");
    EXPECT_EQ(problems_of("[volume-mounts, cdi-annotations]", both),
              "/a.yaml:1: flags.plugin.deviceListStrategy is 'volume-mounts,cdi-annotations', but section "
              "[Devices] has DeviceListStrategy=cdi-cri envvar, ignoring (set "
              "DeviceListStrategy=cdi-annotations volume-mounts)");
}

TEST(PluginConfig, OtherIdsAndNodesNameTheSettings) {
    const std::string text = "flags:\n  plugin:\n    deviceIDStrategy: index\n    passDeviceSpecs: true\n";
    EXPECT_EQ(problems(text),
              (Texts{"/a.yaml:3: flags.plugin.deviceIDStrategy is 'index', but section [Devices] has "
                     "DeviceIDStrategy=uuid, ignoring (set DeviceIDStrategy=index)",
                     "/a.yaml:4: flags.plugin.passDeviceSpecs is 'true', but section [Devices] has "
                     "PassDeviceSpecs=no, ignoring (set PassDeviceSpecs=yes)"}));
    DevicesSettings same = settings();
    same.ids = IdStrategy::index;
    same.pass_nodes = true;
    EXPECT_TRUE(parse_plugin_config(text, same).problems.empty());
    EXPECT_EQ(parse_plugin_config("flags: {plugin: {passDeviceSpecs: false}}\n", same).problems.size(), 1U);
    for (const char* value : {"deviceIDStrategy: pci", "deviceIDStrategy: 0", "deviceIDStrategy: ''",
                              "passDeviceSpecs: 'true'", "passDeviceSpecs: []"})
        EXPECT_NE(parse(std::string("flags: {plugin: {") + value + "}}\n").mistake(), "") << value;
}

TEST(PluginConfig, InvalidListStrategyIsRefused) {
    const auto refusal_of = [](const std::string& value) {
        return parse("version: v1\nflags:\n  plugin:\n    deviceListStrategy: " + value + "\n").mistake();
    };
    const std::string field = "/a.yaml:4: flags.plugin.deviceListStrategy ";
    const std::string names = "cdi-cri, cdi-annotations, envvar, volume-mounts";
    const std::string form = field + "must be a word or a list of at most 4 words: " + names;
    EXPECT_EQ(refusal_of("legacy"), field + "has 'legacy', which is not one of: " + names);
    EXPECT_EQ(refusal_of("[cdi-cri, envvars]"),
              field + "has 'envvars', which is not one of: " + names + " (did you mean 'envvar'?)");
    EXPECT_EQ(refusal_of("'cdi-cri,envvar'"), field + "has 'cdi-cri,envvar', which is not one of: " + names);
    EXPECT_EQ(refusal_of("''"), field + "has '', which is not one of: " + names);
    EXPECT_EQ(refusal_of("[]"), field + "is empty, and containers would get no GPU: use one of " + names);
    for (const char* value : {"1", "true", "{}", "{envvar: true}", "[[envvar]]", "[envvar, null]",
                              "[envvar, envvar, envvar, envvar, envvar]"})
        EXPECT_EQ(refusal_of(value), form) << value;
    EXPECT_LT(refusal_of(std::string(4000, 'a')).size(), 400U);
}

TEST(PluginConfig, MessagesAreBounded) {
    std::string text = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n";
    for (int i = 0; i < 100; ++i)
        text += "    - {name: mig-" + std::to_string(i) + ", replicas: 2, devices: 1}\n";
    EXPECT_EQ(parse(text).mistake(), "");
    EXPECT_EQ(parse(text).problems.size(), 32U);
    EXPECT_NE(parse(text + "    - {name: gpu, replicas: 1}\n").mistake(), "") << "after many other problems";
    std::string key = "a";
    for (int i = 0; i < 1000; ++i)
        key += "\u00e9";
    EXPECT_LT(problems(key + ": b\n").at(0).size(), 300U);
    const std::string twice = problems("? " + key + "\n: b\n? " + key + "\n: c\n").at(0);
    EXPECT_NE(twice.find("has the key 'a\u00e9"), std::string::npos) << twice;
    EXPECT_LT(twice.size(), 300U) << "a message of the parser";
}

TEST(PluginConfig, LongRenamedPathIsRefused) {
    DevicesSettings named = settings();
    named.resource = "example.org/" + std::string(57, 'a');
    const std::string text =
        slices("name: " + named.resource + "\n      replicas: 2", "    renameByDefault: true\n");
    EXPECT_NE(parse_plugin_config(text, named).mistake(), "");
    named.resource.resize(40);
    EXPECT_EQ(parse_plugin_config(slices("name: " + named.resource + "\n      replicas: 2"), named).mistake(),
              "");
}

} // namespace
} // namespace gpuhost::devices
