// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cdi/view.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json device(const std::string& name, const std::string& file, const std::string& state,
            const std::string& other) {
    return {{"name", name},   {"file", file},   {"driver", "550.163.01"}, {"ours", true},
            {"stale", false}, {"state", state}, {"other", other}};
}

TEST(CdiView, ListShowsConflictsAndProblems) {
    Json stale = device("nvidia.com/gpu=1", "/run/cdi/b.yaml", "used", "");
    stale["stale"] = true;
    const Json list{
        {"devices",
         {device("nvidia.com/gpu=0", "/etc/cdi/a.json", "shadowed", "/run/cdi/b.yaml"),
          device("nvidia.com/gpu=0", "/run/cdi/b.yaml", "used", ""), stale,
          device("x.y/z=1", "/etc/cdi/c.json", "conflict", "/etc/cdi/d.json")}},
        {"files",
         {{{"path", "/etc/cdi/a.json"}, {"problems", Json::array()}, {"stale", Json::array()}},
          {{"path", "/etc/cdi/e.json"}, {"problems", {"it has no devices"}}, {"stale", Json::array()}},
          {{"path", "/run/cdi/b.yaml"}, {"problems", Json::array()}, {"stale", {"/dev/x is missing"}}}}}};
    EXPECT_EQ(render_cdi_devices({}, list),
              "DEVICE            FILE             DRIVER      STATE\n"
              "nvidia.com/gpu=0  /etc/cdi/a.json  550.163.01  shadowed by /run/cdi/b.yaml\n"
              "nvidia.com/gpu=0  /run/cdi/b.yaml  550.163.01  gpuhost's\n"
              "nvidia.com/gpu=1  /run/cdi/b.yaml  550.163.01  stale\n"
              "x.y/z=1           /etc/cdi/c.json  550.163.01  conflict with /etc/cdi/d.json\n"
              "/etc/cdi/e.json: it has no devices\n"
              "/run/cdi/b.yaml: /dev/x is missing\n");
}

TEST(CdiView, EmptyListIsEmptyText) {
    const Json nothing{{"devices", Json::array()}, {"files", Json::array()}};
    EXPECT_EQ(render_cdi_devices({}, nothing), "");
    EXPECT_EQ(render_cdi_files({}, nothing), "No CDI specification found.\n");
}

TEST(CdiView, DeviceShowsItsContainerEdits) {
    Json shown = device("nvidia.com/gpu=0", "/etc/cdi/a.json", "used", "");
    shown["stale"] = {"/gone is missing"};
    shown["edits"] = {
        {"deviceNodes",
         {{{"path", "/dev/nvidia0"}, {"permissions", "rwm"}}, {{"path", "/dev/a"}, {"hostPath", "/x/a"}}}},
        {"mounts",
         {{{"hostPath", "/usr/bin/nvidia-smi"}, {"containerPath", "/usr/bin/nvidia-smi"}},
          {{"hostPath", "/d/lib"}, {"containerPath", "/usr/lib"}}}},
        {"env", {"A=B"}},
        {"additionalGids", {44}},
        {"hooks", {{{"path", "/hook"}, {"args", {"hook", "update-ldcache", "--folder", "/usr/lib\x1b"}}}}}};
    EXPECT_EQ(render_cdi_device({}, shown), "  Device: nvidia.com/gpu=0\n"
                                            "    File: /etc/cdi/a.json\n"
                                            "  Driver: 550.163.01\n"
                                            " Problem: /gone is missing\n"
                                            "    Node: /dev/nvidia0 (rwm)\n"
                                            "          /dev/a from /x/a\n"
                                            "   Mount: /usr/bin/nvidia-smi\n"
                                            "          /usr/lib from /d/lib\n"
                                            "Variable: A=B\n"
                                            "   Group: 44\n"
                                            "    Hook: /hook update-ldcache --folder /usr/lib?\n");
}

TEST(CdiView, StatusListsFirstDevicesAndCountsOthers) {
    const auto lines = [](unsigned count, const char* loaded = "550.163.01") {
        Json devices = Json::array();
        for (unsigned number = 0; number < count; ++number)
            devices.push_back("imex=" + std::to_string(number));
        Facts facts;
        add_cdi_lines(facts, {},
                      {{"inputs", {{"driver", loaded}}},
                       {"record", {{"devices", devices}, {"inputs", {{"driver", "550.163.01"}}}}}});
        return facts.render({});
    };
    EXPECT_NE(lines(12).find("imex=10 imex=11 of driver 550.163.01"), std::string::npos);
    EXPECT_NE(lines(2048).find("imex=11 and 2036 more ('gpuhostctl cdi list') of driver"), std::string::npos)
        << lines(2048);
    EXPECT_EQ(lines(12, ""), "Containers: get no GPU until a driver is loaded\n");
}

TEST(CdiView, CheckListsGoodFilesToo) {
    const Json checked{{"files",
                        {{{"path", "/a.json"}, {"problems", {"bad"}}, {"stale", {"old"}}},
                         {{"path", "/b.json"},
                          {"problems", Json::array()},
                          {"stale", Json::array()},
                          {"devices", 2},
                          {"kind", "nvidia.com/gpu"}}}}};
    EXPECT_EQ(render_cdi_files({}, checked),
              "/b.json: good, 2 devices of nvidia.com/gpu\n/a.json: bad\n/a.json: old\n");
}

} // namespace
} // namespace gpuhost::ctl
