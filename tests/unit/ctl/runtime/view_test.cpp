// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/runtime/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json containerd() {
    return {
        {"name", "containerd"},
        {"kind", "containerd"},
        {"running", true},
        {"pid", 812},
        {"unit", "containerd.service"},
        {"unit_file", "/usr/lib/systemd/system/containerd.service"},
        {"socket", "/run/containerd/containerd.sock"},
        {"executable", "/usr/bin/containerd"},
        {"version", "1.7.24"},
        {"config", "/etc/containerd/config.toml"},
        {"files",
         {{{"path", "/etc/containerd/config.toml"}, {"exists", true}, {"problem", ""}, {"version", 2}},
          {{"path", "/etc/containerd/a.toml"}, {"exists", true}, {"problem", "no"}}}},
        {"cri_plugin", "io.containerd.grpc.v1.cri"},
        {"default_runtime", "runc"},
        {"runtimes",
         {{{"name", "nvidia"}, {"type", ""}, {"binary", "/usr/bin/nvidia-container-runtime\x1b"}},
          {{"name", "runc"}, {"type", "io.containerd.runc.v2"}, {"binary", ""}, {"systemd_cgroup", true}}}},
        {"cdi", "off"},
        {"cdi_spec_dirs", {"/etc/cdi", "/var/run/cdi"}},
        {"problems", {"it is wrong"}},
        {"verdict", "its configuration is not valid: it is wrong"}};
}

TEST(RuntimeView, ListEndsWithTheNextStep) {
    const Json podman{
        {"name", "podman"}, {"kind", "podman"}, {"cdi", "on"}, {"config", "/c"}, {"verdict", "good"}};
    EXPECT_EQ(render_runtimes({}, {{"runtimes", {containerd(), podman}}}),
              "NAME        KIND        VERSION  STATE             CDI  CONFIGURATION\n"
              "containerd  containerd  1.7.24   running           off  /etc/containerd/config.toml\n"
              "podman      podman               runs when called  on   /c\n"
              "containerd: its configuration is not valid: it is wrong\n"
              "podman: good\n");
    EXPECT_EQ(render_runtimes({}, {{"runtimes", Json::array()}}), "");
}

TEST(RuntimeView, SingleRuntimeIsShownInFull) {
    EXPECT_EQ(render_runtime({}, containerd()),
              "   Runtime: containerd (containerd)\n"
              "   Version: 1.7.24\n"
              "     State: running, process 812\n"
              "      Unit: containerd.service (/usr/lib/systemd/system/containerd.service)\n"
              "Executable: /usr/bin/containerd\n"
              "    Socket: /run/containerd/containerd.sock\n"
              "     Reads: /etc/containerd/config.toml (version 2)\n"
              "            /etc/containerd/a.toml (not read)\n"
              "  Runtimes: nvidia, /usr/bin/nvidia-container-runtime?\n"
              "            runc, io.containerd.runc.v2, cgroups by systemd (default)\n"
              "       CDI: off, from /etc/cdi /var/run/cdi\n"
              "   Problem: it is wrong\n"
              "   Verdict: its configuration is not valid: it is wrong\n");
    Json absent = containerd();
    absent["running"] = false;
    absent["pid"] = 0;
    absent["files"] = {{{"path", "/c"}, {"exists", false}, {"problem", ""}}};
    const std::string text = render_runtime({}, absent);
    EXPECT_NE(text.find("State: not running\n"), std::string::npos);
    EXPECT_NE(text.find("Reads: /c (not found: defaults)\n"), std::string::npos);
}

} // namespace
} // namespace gpuhost::ctl
