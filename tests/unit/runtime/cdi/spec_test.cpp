// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/spec.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::Json;

/// All members of CDI 1.1.0.
constexpr const char* everything = R"({
  "cdiVersion": "1.1.0", "kind": "vendor.com/class.sub", "annotations": {"a": "b"},
  "devices": [{"name": "0", "annotations": {"c": "d"}, "containerEdits": {
    "env": ["A=B"],
    "deviceNodes": [{"path": "/dev/a", "hostPath": "/host/a", "type": "c", "major": 195, "minor": 1, "fileMode": 438,
                     "permissions": "rwm", "uid": 1, "gid": 2}],
    "netDevices": [{"hostInterfaceName": "eth0", "name": "net0"}],
    "hooks": [{"hookName": "createContainer", "path": "/hook", "args": ["hook", "x"], "env": ["C=D"], "timeout": 5}],
    "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"], "type": "bind"}],
    "intelRdt": {"closID": "id", "l3CacheSchema": "l3", "memBwSchema": "mb", "schemata": ["s"], "enableMonitoring": true},
    "additionalGids": [44]}}],
  "containerEdits": {"env": ["E=F"]}})";

Spec spec_of(const std::string& text, const char* name = "x.json") {
    const auto spec = parse_spec(text, name);
    EXPECT_TRUE(spec) << spec.error().message;
    return spec ? *spec : Spec();
}

/// Returns `everything` with one place changed.
Json changed(const std::string& pointer, const Json& value) {
    Json document = Json::parse(everything);
    document[Json::json_pointer(pointer)] = value;
    return document;
}

std::string refusal(const Json& document) {
    const auto spec = spec_from_json(document, "x");
    if (spec)
        return "taken";
    EXPECT_EQ(spec.error().code, Errc::BadContent);
    return spec.error().message;
}

std::vector<std::string> problems(const std::string& pointer, const Json& value) {
    const auto spec = spec_from_json(changed(pointer, value), "x");
    return spec ? spec_problems(*spec) : std::vector<std::string>{spec.error().message};
}

using Texts = std::vector<std::string>;

TEST(CdiSpec, RoundTripKeepsAllMembersOfCdi) {
    const Spec spec = spec_of(everything);
    EXPECT_EQ(to_json(spec), Json::parse(everything));
    EXPECT_EQ(spec_problems(spec), Texts());
    EXPECT_EQ(spec_of(to_text(spec)), spec);
}

TEST(CdiSpec, YamlOfOtherToolsIsAccepted) {
    const Spec spec =
        spec_of("---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: 0\n  containerEdits:\n"
                "    deviceNodes:\n    - path: /dev/nvidia0\n      major: 195\n      fileMode: 0666\n",
                "nvidia.yaml");
    EXPECT_EQ(spec.devices.at(0).name, "0");
    EXPECT_EQ(spec.devices[0].edits.nodes.at(0).file_mode, 0666U);
    EXPECT_EQ(spec_problems(spec), Texts());
}

TEST(CdiSpec, UnknownMembersAreRefused) {
    EXPECT_EQ(refusal(changed("/containeredits", Json::object())), "x.containeredits: unknown key");
    EXPECT_EQ(refusal(changed("/devices/0/containerEdits/mounts/0/readonly", true)),
              "x.devices[0].containerEdits.mounts[0].readonly: unknown key");
    for (const char* place :
         {"", "/devices/0/containerEdits/deviceNodes/0", "/devices/0/containerEdits/netDevices/0",
          "/devices/0/containerEdits/hooks/0", "/devices/0/containerEdits/intelRdt",
          "/devices/0/containerEdits", "/devices/0"})
        EXPECT_NE(refusal(changed(place + std::string("/unknown"), 1)).find("unknown key"), std::string::npos)
            << place;
}

TEST(CdiSpec, WrongTypesNameTheirPlace) {
    const std::string edits = "/devices/0/containerEdits/";
    EXPECT_EQ(refusal(Json::array()), "x: is not an object");
    EXPECT_EQ(refusal(changed("/devices", "all")), "x.devices: is not a list");
    EXPECT_EQ(refusal(changed("/kind", true)), "x.kind: is not a string");
    EXPECT_EQ(refusal(changed(edits + "env", {1})), "x.devices[0].containerEdits.env[0]: is not a string");
    EXPECT_EQ(refusal(changed(edits + "deviceNodes/0/gid", -1)),
              "x.devices[0].containerEdits.deviceNodes[0].gid: is not a number in the valid range");
    EXPECT_EQ(refusal(changed(edits + "additionalGids", {4294967296})),
              "x.devices[0].containerEdits.additionalGids[0]: is not a number in the valid range");
    EXPECT_EQ(refusal(changed(edits + "intelRdt/enableMonitoring", "yes")),
              "x.devices[0].containerEdits.intelRdt.enableMonitoring: is neither true nor false");
    EXPECT_EQ(refusal(changed("/annotations", {{"a", 1}})),
              "x.annotations: has a member that is not a string");
    Json document = Json::parse(everything);
    document["devices"][0].erase("name");
    EXPECT_EQ(refusal(document), "x.devices[0].name: is missing");
    EXPECT_EQ(refusal(changed(edits + "deviceNodes/0/minor", 9223372036854775808U)),
              "x.devices[0].containerEdits.deviceNodes[0].minor: is not a number in the valid range");
}

TEST(CdiSpec, ProblemsEqualTheRefusalsOfRuntimes) {
    const std::string edits = "/devices/0/containerEdits/";
    EXPECT_EQ(problems("/cdiVersion", "2.0.0"), Texts{"'2.0.0' is not a known CDI version up to 1.1.0"});
    EXPECT_EQ(problems("/cdiVersion", "v1.1.0"), Texts());
    EXPECT_EQ(problems("/cdiVersion", "0.7.0"), Texts{"it needs CDI 1.1.0, but declares 0.7.0"});
    for (const char* kind :
         {"gpu", "nvidia.com/", "/gpu", "1nvidia.com/gpu", "nvidia.com/gpu-", "nvidia.com/g/pu", "n com/gpu"})
        EXPECT_EQ(problems("/kind", kind), Texts{"its kind '" + std::string(kind) + "' is not VENDOR/CLASS"});
    for (const char* name : {"", "-0", "0-", "a=b", "a b"})
        EXPECT_EQ(problems("/devices/0/name", name),
                  Texts{"'" + std::string(name) + "' is not a valid device name"});
    EXPECT_EQ(problems("/devices/0/name", "0:1"), Texts());
    EXPECT_EQ(problems("/devices", Json::array()), Texts{"it has no devices"});
    EXPECT_EQ(problems("/devices/0/containerEdits", Json::object()), Texts{"device '0' changes nothing"});
    EXPECT_EQ(problems(edits + "env", {"A"}), Texts{"'A' is not NAME=VALUE"});
    EXPECT_EQ(problems("/containerEdits/env", {"=B"}), Texts{"'=B' is not NAME=VALUE"});
    EXPECT_EQ(problems(edits + "hooks/0/env", {"A"}), Texts{"'A' is not NAME=VALUE"});
    EXPECT_EQ(problems(edits + "deviceNodes/0/path", "dev/a"),
              Texts{"device node 'dev/a' is not an absolute path"});
    EXPECT_EQ(problems(edits + "deviceNodes/0/hostPath", "a"),
              Texts{"device node 'a' is not an absolute path"});
    EXPECT_EQ(problems(edits + "deviceNodes/0/type", "d"),
              Texts{"device node /dev/a has type 'd' other than b, c, u, p"});
    EXPECT_EQ(problems(edits + "deviceNodes/0/permissions", "rwx"),
              Texts{"device node /dev/a has permissions 'rwx' other than r, w, m"});
    EXPECT_EQ(problems(edits + "deviceNodes/0/permissions", "none"), Texts());
    EXPECT_EQ(problems(edits + "mounts/0/hostPath", ""), Texts{"mount source '' is not an absolute path"});
    const Json memory{{"hostPath", "tmpfs"}, {"containerPath", "/m"}, {"type", "tmpfs"}};
    EXPECT_EQ(problems(edits + "mounts/0", memory), Texts());
    EXPECT_EQ(problems(edits + "deviceNodes/0/minor", -1), Texts{"device node /dev/a has a negative number"});
    EXPECT_EQ(problems(edits + "mounts/0/containerPath", "b"),
              Texts{"mount target 'b' is not an absolute path"});
    EXPECT_EQ(problems(edits + "hooks/0/hookName", "later"), Texts{"'later' is not a valid hook name"});
    EXPECT_EQ(problems(edits + "hooks/0/path", "hook"), Texts{"hook 'hook' is not an absolute path"});
    EXPECT_EQ(problems(edits + "intelRdt/closID", ".."), Texts{"'..' is not a valid class of service"});
    const Json net{{"hostInterfaceName", "eth0"}, {"name", "net1"}};
    EXPECT_EQ(problems(edits + "netDevices/1", net),
              Texts{"network device 'eth0' or its name 'net1' is used twice"});
    const Json device = Json::parse(everything)["devices"][0];
    EXPECT_EQ(problems("/devices/1", device), Texts{"it has two devices named '0'"});
}

TEST(CdiSpec, VersionIsTheLowestWithTheUsedMembers) {
    Spec spec;
    spec.kind = "vendor.com/class";
    spec.devices = {{"a", {}, {}}};
    EXPECT_EQ(minimum_version(spec), "0.3.0");
    spec.edits.mounts = {{"/a", "/b", {}, "bind"}};
    EXPECT_EQ(minimum_version(spec), "0.4.0");
    spec.devices[0].edits.nodes.push_back({});
    EXPECT_EQ(minimum_version(spec), "0.4.0");
    spec.devices[0].edits.nodes[0].host_path = "/dev/x";
    EXPECT_EQ(minimum_version(spec), "0.5.0");
    spec.devices[0].edits.nodes.clear();
    spec.devices[0].name = "0";
    EXPECT_EQ(minimum_version(spec), "0.5.0");
    spec.kind = "vendor.com/class.sub";
    EXPECT_EQ(minimum_version(spec), "0.6.0");
    spec.kind = "vendor.com/class";
    spec.devices[0].annotations = {{"a", "b"}};
    EXPECT_EQ(minimum_version(spec), "0.6.0");
    spec.edits.additional_gids = {44};
    EXPECT_EQ(minimum_version(spec), "0.7.0");
    spec.devices[0].edits.net_devices = {{"eth0", "net0"}};
    EXPECT_EQ(minimum_version(spec), "1.1.0");
}

TEST(CdiSpec, OnlyYamlAndJsonSuffixesCount) {
    EXPECT_TRUE(is_spec_file("nvidia.yaml") && is_spec_file("gpuhost.json"));
    EXPECT_FALSE(is_spec_file("nvidia.yml") || is_spec_file("nvidia.yaml.bak"));
}

/// Runtimes read JSON with their YAML parser, which refuses duplicate keys.
TEST(CdiSpec, DuplicateKeysInJsonAreRefused) {
    const auto parse = [](const std::string& text) { return parse_spec(text, "a.json"); };
    EXPECT_TRUE(
        parse(R"({"cdiVersion": "0.3.0", "kind": "a.b/c", "devices": [{"name": "x"}, {"name": "x"}]})"));
    for (const char* text :
         {R"({"cdiVersion": "0.3.0", "kind": "a.b/c", "kind": "a.b/d", "devices": []})",
          R"({"cdiVersion": "0.3.0", "kind": "a.b/c", "devices": [{"name": "x", "name": "y"}]})",
          R"({"cdiVersion": "0.3.0", "kind": "a.b/c", "k\u0069nd": "a.b/c", "devices": []})"}) {
        const auto spec = parse(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_EQ(spec.error().code, base::Errc::BadContent);
        EXPECT_NE(spec.error().message.find("' twice in one place"), std::string::npos)
            << spec.error().message;
    }
}

} // namespace
} // namespace gpuhost::runtime
