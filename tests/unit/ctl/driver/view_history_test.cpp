// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json change(int id, const std::string& state, const Json& subject, const Json& more = Json::object()) {
    Json made{
        {"operation", id},           {"from", "535.261.03"},      {"to", "550.163.01"}, {"kernel", "6.1.0"},
        {"began_us", 1'000'000'000}, {"ended_us", 1'012'000'000}, {"state", state},     {"cause", ""},
        {"waits_for_reboot", false}, {"subject", subject}};
    made.update(more);
    return made;
}

TEST(HistoryView, EmptyHistoryIsEmptyText) {
    EXPECT_EQ(render_history({}, {{"changes", Json::array()}}, 0), "");
}

TEST(HistoryView, EachChangeIsOneLine) {
    ::setenv("TZ", "UTC", 1);
    const Json history{{"changes",
                        {change(9, "reboot-required", {{"origin", "cluster"}},
                                {{"waits_for_reboot", true}, {"cause", "nvidia is stuck"}}),
                         change(8, "rolled-back", {{"user", "root"}, {"login_user", "alice"}},
                                {{"cause", "No such device"}}),
                         change(7, "committed", {{"origin", "unit"}, {"unit", "gpuhost-cdi.service"}}),
                         change(6, "committed", {{"uid", 1000}}, {{"from", ""}, {"ended_us", 0}}),
                         change(5, "committed", {{"origin", "daemon"}})}}};
    EXPECT_EQ(render_history({}, history, 1'072'000'000),
              "ID  BEGAN                        AGO             FROM        TO          KERNEL  TOOK  "
              "OUTCOME             ASKED BY             CAUSE\n"
              " 9  Thu 1970-01-01 00:16:40 UTC  1 min 12 s ago  535.261.03  550.163.01  6.1.0   12 s  waits "
              "for a reboot  the cluster          nvidia is stuck\n"
              " 8  Thu 1970-01-01 00:16:40 UTC  1 min 12 s ago  535.261.03  550.163.01  6.1.0   12 s  "
              "rolled-back         alice as root        No such device\n"
              " 7  Thu 1970-01-01 00:16:40 UTC  1 min 12 s ago  535.261.03  550.163.01  6.1.0   12 s  "
              "committed           gpuhost-cdi.service\n"
              " 6  Thu 1970-01-01 00:16:40 UTC  1 min 12 s ago  none        550.163.01  6.1.0         "
              "committed           uid 1000\n"
              " 5  Thu 1970-01-01 00:16:40 UTC  1 min 12 s ago  535.261.03  550.163.01  6.1.0   12 s  "
              "committed           gpuhostd\n");
}

TEST(HistoryView, NarrowTerminalShowsCausesBelow) {
    ::setenv("TZ", "UTC", 1);
    const Json history{{"changes",
                        {change(18, "rolled-back", {{"user", "root"}},
                                {{"cause", "loading 'nvidia': the driver could not start any GPU"}}),
                         change(7, "committed", {{"origin", "daemon"}}, {{"kernel", "6.1.0-50-amd64"}})}}};
    EXPECT_EQ(render_history({true, false, 80}, history, 1'072'000'000),
              "ID  BEGAN                FROM        TO          TOOK  OUTCOME      ASKED BY\n"
              "18  1970-01-01 00:16:40  535.261.03  550.163.01  12 s  rolled-back  root\n"
              "    loading 'nvidia': the driver could not start any GPU\n"
              " 7  1970-01-01 00:16:40  535.261.03  550.163.01  12 s  committed    gpuhostd\n");
    EXPECT_EQ(
        render_history({true, false, 120}, history, 1'072'000'000),
        "ID  BEGAN                AGO             FROM        TO          KERNEL          TOOK  OUTCOME    "
        "  ASKED BY\n"
        "18  1970-01-01 00:16:40  1 min 12 s ago  535.261.03  550.163.01  6.1.0           12 s  rolled-back"
        "  root\n"
        "    loading 'nvidia': the driver could not start any GPU\n"
        " 7  1970-01-01 00:16:40  1 min 12 s ago  535.261.03  550.163.01  6.1.0-50-amd64  12 s  committed  "
        "  gpuhostd\n");
}

} // namespace
} // namespace gpuhost::ctl
