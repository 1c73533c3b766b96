// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/runtime/view_runtime_change.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json nothing(const std::string& name) {
    return {{"name", name},
            {"kind", "podman"},
            {"outcome", "nothing"},
            {"text", "it reads CDI by itself"},
            {"reasons", Json::array()},
            {"files", Json::array()},
            {"restart", "none"},
            {"restart_text", ""},
            {"problem", nullptr}};
}

Json change() {
    return {{"name", "containerd"},
            {"kind", "containerd"},
            {"outcome", "change"},
            {"text", "switch CDI on"},
            {"reasons", {"enable_cdi is off in /etc/containerd/config.toml\x1b"}},
            {"files",
             {{{"path", "/etc/containerd/config.toml"},
               {"action", "write"},
               {"before", "version = 2\n\n[a]\n\tb = 1\x1b[2J\n"},
               {"after", "version = 2\nimports = [\"/x\"]\n\n[a]\n\tb = 1\x1b[2J\n"}},
              {{"path", "/x"}, {"action", "write"}, {"before", nullptr}, {"after", "version = 2\n"}},
              {{"path", "/y"}, {"action", "remove"}, {"before", "z\n"}, {"after", nullptr}}}},
            {"restart", "now"},
            {"restart_text", "containerd.service, once"},
            {"problem", nullptr}};
}

Json stopped(const std::string& outcome, const std::string& text, const std::string& message) {
    Json runtime = nothing("docker");
    runtime["outcome"] = outcome;
    runtime["text"] = text;
    runtime["problem"] = {{"message", message}, {"hint", "mend it"}};
    return runtime;
}

TEST(RuntimeChangeView, UnchangedRuntimeIsOneLine) {
    EXPECT_EQ(render_runtime_plan({}, {{"runtimes", {nothing("podman"), nothing("cri-o")}}}),
              "podman: nothing to do: it reads CDI by itself\n"
              "cri-o: nothing to do: it reads CDI by itself\n");
    EXPECT_EQ(render_runtime_plan({}, {{"runtimes", Json::array()}}), "");
}

TEST(RuntimeChangeView, ChangeShowsItsDiff) {
    EXPECT_EQ(render_runtime_plan({}, {{"runtimes", {nothing("podman"), change(), nothing("cri-o")}}}),
              "podman: nothing to do: it reads CDI by itself\n"
              "\n"
              "containerd: switch CDI on\n"
              "  enable_cdi is off in /etc/containerd/config.toml?\n"
              "  /etc/containerd/config.toml\n"
              "    @@ -1,4 +1,5 @@\n"
              "     version = 2\n"
              "    +imports = [\"/x\"]\n"
              "\n"
              "     [a]\n"
              "         b = 1?[2J\n"
              "  /x (new)\n"
              "    @@ -0,0 +1,1 @@\n"
              "    +version = 2\n"
              "  /y (removed)\n"
              "    @@ -1,1 +0,0 @@\n"
              "    -z\n"
              "  Restart: containerd.service, once\n"
              "\n"
              "cri-o: nothing to do: it reads CDI by itself\n");
}

TEST(RuntimeChangeView, AddedAndRemovedLinesAreColoured) {
    const Screen screen{true, true, 80};
    const std::string text = render_runtime_plan(screen, {{"runtimes", {change()}}});
    EXPECT_NE(text.find(screen.paint(Style::Good, "+version = 2")), std::string::npos);
    EXPECT_NE(text.find(screen.paint(Style::Bad, "-z")), std::string::npos);
}

TEST(RuntimeChangeView, RefusedChangeShowsTheReason) {
    EXPECT_EQ(
        render_runtime_plan({}, {{"runtimes",
                                  {stopped("refused", "daemon.json is no JSON", "daemon.json is no JSON"),
                                   stopped("by-hand", "its template is another's", "")}}}),
        "docker: refused: daemon.json is no JSON\n"
        "  Hint: mend it\n"
        "\n"
        "docker: by hand: its template is another's\n"
        "  Hint: mend it\n");
    EXPECT_EQ(render_runtime_plan({}, {{"runtimes", {stopped("refused", "", "it is wrong")}}}),
              "docker: refused\n  it is wrong\n  Hint: mend it\n");
}

TEST(RuntimeChangeView, ChecksShowGoodOrBad) {
    const Json good{{"name", "podman"}, {"ok", true}, {"checks", Json::array()}};
    const Json bad{{"name", "containerd"},
                   {"ok", false},
                   {"checks",
                    {{{"name", "files"}, {"ok", true}, {"text", ""}},
                     {{"name", "running"}, {"ok", false}, {"text", "it runs since before\x1b"}}}}};
    EXPECT_EQ(render_runtime_checks({}, {{"runtimes", {good, bad}}}),
              "podman: good\n"
              "containerd: bad\n"
              "  good  files\n"
              "  bad   running: it runs since before?\n");
    EXPECT_EQ(render_runtime_checks({}, Json::object()), "");
}

TEST(RuntimeChangeView, StatusHasOneLinePerRuntime) {
    const Json observed{{"configure", true},
                        {"runtimes",
                         {{{"name", "containerd"},
                           {"kind", "containerd"},
                           {"state", "configured"},
                           {"text", "CDI is on"},
                           {"restart_wanted", true}},
                          {{"name", "k3s"}, {"state", "by-hand"}, {"text", ""}, {"restart_wanted", false}}}},
                        {"changed", {"/etc/docker/daemon.json"}}};
    Facts facts;
    add_runtime_lines(facts, {}, observed);
    EXPECT_EQ(facts.render({}), "Runtimes: containerd configured: CDI is on, needs a restart\n"
                                "          k3s by hand\n"
                                "          /etc/docker/daemon.json was changed by another program\n");
    Facts off;
    add_runtime_lines(off, {},
                      {{"configure", false}, {"runtimes", Json::array()}, {"changed", Json::array()}});
    EXPECT_EQ(off.render({}), "Runtimes: are configured by hand (Manage=no in section [Runtime])\n");
    Facts none;
    add_runtime_lines(none, {}, Json::object());
    EXPECT_EQ(none.render({}), "");
}

} // namespace
} // namespace gpuhost::ctl
