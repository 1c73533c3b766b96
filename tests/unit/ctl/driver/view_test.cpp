// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

Json modules(const std::string& kernel, const std::string& digest) {
    return {{"kernel", kernel},
            {"flavour", "open"},
            {"digest", digest},
            {"path", "/var/lib/gpuhost/driver/x/" + digest},
            {"modules", {{{"name", "nvidia"}}, {{"name", "nvidia_uvm"}}}}};
}

Json list() {
    const Json userland{{"digest", "u"}, {"path", "/var/lib/gpuhost/driver/550.163.01/userland/u"},
                        {"files", 43},   {"bytes", 17U << 20},
                        {"nvml", true},  {"firmware", {"gsp_ga10x.bin"}}};
    return {{"kernel", "6.1.0-50-amd64"},
            {"selected",
             {{"6.1.0-50-amd64",
               {{"version", "550.163.01"},
                {"userland", "u"},
                {"modules", "m2"},
                {"previous", {{"version", "535.261.03"}, {"userland", ""}, {"modules", "m1"}}}}}}},
            {"versions",
             {{{"version", "550.163.01"},
               {"userland", {userland}},
               {"modules", {modules("6.1.0-50-amd64", "m2"), modules("6.1.0-49-amd64", "m3")}},
               {"sources", {{{"flavour", "open"}, {"digest", "s"}, {"path", "/s"}}}}},
              {{"version", "535.261.03"},
               {"userland", Json::array()},
               {"modules", {modules("6.1.0-50-amd64", "m1")}},
               {"sources", Json::array()}},
              {{"version", "470.1.2"},
               {"userland", Json::array()},
               {"modules", Json::array()},
               {"sources", {{{"flavour", "open"}, {"digest", "s"}, {"path", "/s"}}}}}}}};
}

TEST(DriverView, ListShowsStateOfEachSet) {
    EXPECT_EQ(render_drivers({}, list(), "550.163.01"),
              "VERSION     KERNEL          FLAVOUR  MODULES  USERLAND  STATE\n"
              "550.163.01  6.1.0-50-amd64  open           2    17 MiB  loaded, selected\n"
              "            6.1.0-49-amd64  open           2            available\n"
              "535.261.03  6.1.0-50-amd64  open           2      none  previous\n"
              "470.1.2                                           none  not built\n");
}

TEST(DriverView, SupersededSetsAreMarked) {
    Json stored = list();
    Json& sets = stored["versions"][0]["modules"];
    sets[0]["superseded"] = true;
    sets[1]["superseded"] = true;
    sets.insert(sets.begin(), modules("6.1.0-50-amd64", "m4"));
    const std::string text = render_drivers({}, stored, "550.163.01");
    EXPECT_NE(
        text.find("550.163.01  6.1.0-50-amd64  open           2    17 MiB  available\n"
                  "            6.1.0-50-amd64  open           2            loaded, selected, superseded\n"
                  "            6.1.0-49-amd64  open           2            superseded\n"),
        std::string::npos)
        << text;
}

TEST(DriverView, SelectedButUnloadedDriverIsNotLoaded) {
    const std::string text = render_drivers({}, list(), "535.261.03");
    EXPECT_NE(text.find("17 MiB  selected\n"), std::string::npos) << text;
    EXPECT_NE(text.find("none  loaded, previous\n"), std::string::npos) << text;
}

TEST(DriverView, EmptyStoreIsEmptyText) {
    EXPECT_EQ(render_drivers({}, {{"versions", Json::array()}}, ""), "");
}

TEST(DriverView, ShowsUserlandAndModulesOfOneVersion) {
    EXPECT_EQ(render_driver({}, list(), list()["versions"][0], "550.163.01"),
              "  Driver: 550.163.01\n"
              "Userland: 43 files, 17 MiB, with NVML, firmware gsp_ga10x.bin\n"
              "          /var/lib/gpuhost/driver/550.163.01/userland/u\n"
              " Modules: for 6.1.0-50-amd64, open: loaded, selected\n"
              "          nvidia nvidia_uvm\n"
              "          /var/lib/gpuhost/driver/x/m2\n"
              " Modules: for 6.1.0-49-amd64, open: available\n"
              "          nvidia nvidia_uvm\n"
              "          /var/lib/gpuhost/driver/x/m3\n"
              "  Source: open, can be built for installed kernel headers\n"
              "          /s\n");
}

} // namespace
} // namespace gpuhost::ctl
