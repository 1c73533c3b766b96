// SPDX-License-Identifier: Apache-2.0
#include "config.h"
#include "daemon/exporter/metrics.hpp"

#include <gtest/gtest.h>

namespace gpuhost::exporter {
namespace {

using base::Json;

Json component(Json observed, Json steps = Json::array(), Json problems = Json::array()) {
    return {
        {"observed", std::move(observed)},
        {"plan", {{"title", "converge"}, {"steps", std::move(steps)}, {"problems", std::move(problems)}}}};
}

Json modules(const char* srcversion) {
    return {{{"name", "nvidia_uvm"}, {"srcversion", "1"}, {"size", 5}},
            {{"name", "nvidia"}, {"srcversion", srcversion}, {"size", 10}}};
}

Json driver() {
    return {{"gpus",
             {{{"address", "0000:01:00.0"}, {"driver", "nvidia"}},
              {{"address", "0000:02:00.0"}, {"driver", ""}},
              {{"address", "0000:03:00.0"}, {"driver", "vfio-pci"}}}},
            {"loaded_version", "550.163.01"},
            {"loaded", modules("ABC")},
            {"selected", {{"version", "535.261.03"}}},
            {"configured", "550.163.01"},
            {"store",
             {{"problems", {"a set"}},
              {"versions",
               {{{"version", "550.163.01"},
                 {"userland", {{{"bytes", 1000}}}},
                 {"sources", {{{"size", 100}}}},
                 {"modules",
                  {{{"flavour", "proprietary"}, {"modules", modules("DEF")}},
                   {{"flavour", "open"}, {"modules", modules("ABC")}}}}}}}}}};
}

Json images() {
    return {{"bundles",
             {{{"name", "site"},
               {"generation", 7},
               {"created", 1'800'000'000},
               {"imported", 1'800'000'100},
               {"images", 3},
               {"bytes", 4096},
               {"signer", {{"not_after", 1'900'000'000}}}},
              {{"name", "own"}, {"generation", 1}, {"signer", {{"not_after", 0}}}},
              {{"name", "bad"}, {"problem", "not valid JSON"}}}},
            {"scrub", {{"finished", 1'800'000'200}, {"damaged", {Json::object()}}, {"more", 2}}},
            {"placement",
             {{"checked", 1'800'000'300},
              {"images", {{{"state", "present"}}, {{"state", "failed"}}, {{"state", "present"}}}},
              {"absent", {"a.example/b"}}}}};
}

Documents documents() {
    Documents made;
    made.host = {
        {"version", "0.1"},
        {"state", "busy"},
        {"ready", true},
        {"config_problems", {"line 3"}},
        {"cluster", {{"desired", {{"driver", "560.35.03"}}}}},
        {"operation", 5},
        {"components",
         {{"driver", component(driver(), {Json::object()})},
          {"cdi", component({{"record", {{"devices", {"0", "all"}}}}})},
          {"runtime",
           component({{"runtimes", {{{"name", "docker"}, {"state", "ready"}, {"restart_wanted", true}}}}},
                     Json::array(), {Json::object()})},
          {"toolkit", component({{"selected", "1.17.4"},
                                 {"store", {{"toolkits", {{{"bytes", 20}}, {{"bytes", 30}}}}}}})},
          {"images", {{"error", {{"message", "unreadable"}}}, {"observed", images()}}}}}};
    made.operations = {{1, "apply", "failed", "", 1'000'000, 2'000'000},
                       {2, "apply", "committed", "", 3'000'000, 4'000'000},
                       {3, "driver.swap", "refused", "", 5'000'000, 6'000'000},
                       {4, "driver.swap", "checked", "", 7'000'000, 8'000'000},
                       {5, "bundle.import", "running", "", 9'000'000, 0}};
    made.operation = {{"id", 5}, {"changes_host", false}, {"progress", 0.12345}};
    made.history = {{"changes",
                     {{{"state", "failed"}, {"ended_us", 9'000'000}},
                      {{"state", "committed"}, {"ended_us", 8'000'000}},
                      {{"state", "committed"}, {"ended_us", 7'000'000}}}}};
    return made;
}

/// Returns the samples, without the lines of the families.
std::string samples(const std::string& text) {
    std::string made;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin) + 1;
        if (text[begin] != '#')
            made += text.substr(begin, end - begin);
        begin = end;
    }
    return made;
}

constexpr const char* golden =
    R"(gpuhost_up 1
gpuhost_build_info{program="gpuhost-exporter",version=")" PACKAGE_VERSION R"("} 1
gpuhost_build_info{program="gpuhostd",version="0.1"} 1
gpuhost_ok 0
gpuhost_ready 1
gpuhost_state{state="starting"} 0
gpuhost_state{state="idle"} 0
gpuhost_state{state="busy"} 1
gpuhost_state{state="degraded"} 0
gpuhost_state{state="reboot-required"} 0
gpuhost_component_state{component="cdi",state="ok"} 1
gpuhost_component_state{component="cdi",state="pending"} 0
gpuhost_component_state{component="cdi",state="problem"} 0
gpuhost_component_state{component="cdi",state="undecided"} 0
gpuhost_component_state{component="cdi",state="unknown"} 0
gpuhost_component_state{component="driver",state="ok"} 0
gpuhost_component_state{component="driver",state="pending"} 1
gpuhost_component_state{component="driver",state="problem"} 0
gpuhost_component_state{component="driver",state="undecided"} 0
gpuhost_component_state{component="driver",state="unknown"} 0
gpuhost_component_state{component="images",state="ok"} 0
gpuhost_component_state{component="images",state="pending"} 0
gpuhost_component_state{component="images",state="problem"} 0
gpuhost_component_state{component="images",state="undecided"} 0
gpuhost_component_state{component="images",state="unknown"} 1
gpuhost_component_state{component="runtime",state="ok"} 0
gpuhost_component_state{component="runtime",state="pending"} 0
gpuhost_component_state{component="runtime",state="problem"} 1
gpuhost_component_state{component="runtime",state="undecided"} 0
gpuhost_component_state{component="runtime",state="unknown"} 0
gpuhost_component_state{component="toolkit",state="ok"} 1
gpuhost_component_state{component="toolkit",state="pending"} 0
gpuhost_component_state{component="toolkit",state="problem"} 0
gpuhost_component_state{component="toolkit",state="undecided"} 0
gpuhost_component_state{component="toolkit",state="unknown"} 0
gpuhost_configuration_problems 1
gpuhost_operation_running{kind="bundle.import"} 1
gpuhost_operation_start_timestamp_seconds{kind="bundle.import"} 9
gpuhost_operation_progress_ratio{kind="bundle.import"} 0.123
gpuhost_last_operation_timestamp_seconds{kind="apply",outcome="committed"} 4
gpuhost_last_operation_timestamp_seconds{kind="apply",outcome="failed"} 2
gpuhost_last_operation_timestamp_seconds{kind="driver.swap",outcome="refused"} 6
gpuhost_last_operation_outcome{kind="apply",outcome="committed"} 1
gpuhost_driver_changes{outcome="committed"} 2
gpuhost_driver_changes{outcome="failed"} 1
gpuhost_driver_last_change_timestamp_seconds 8
gpuhost_gpus 3
gpuhost_gpus_served 1
gpuhost_gpus_unserved 1
gpuhost_driver_loaded 1
gpuhost_driver_info{version="550.163.01",flavour="open"} 1
gpuhost_driver_selected_info{version="535.261.03"} 1
gpuhost_driver_wanted_info{version="550.163.01"} 1
gpuhost_driver_cluster_info{version="560.35.03"} 1
gpuhost_driver_store_versions 1
gpuhost_driver_store_bytes 1130
gpuhost_driver_store_problems 1
gpuhost_cdi_devices 2
gpuhost_runtime_state{runtime="docker",state="ready"} 1
gpuhost_runtime_state{runtime="docker",state="configured"} 0
gpuhost_runtime_state{runtime="docker",state="by-hand"} 0
gpuhost_runtime_state{runtime="docker",state="restored"} 0
gpuhost_runtime_state{runtime="docker",state="problem"} 0
gpuhost_runtime_state{runtime="docker",state="changing"} 0
gpuhost_runtime_restart_wanted{runtime="docker"} 1
gpuhost_toolkit_info{version="1.17.4"} 1
gpuhost_toolkit_store_versions 2
gpuhost_toolkit_store_bytes 50
gpuhost_bundles 3
gpuhost_bundles_unreadable 1
gpuhost_bundle_generation{bundle="site"} 7
gpuhost_bundle_generation{bundle="own"} 1
gpuhost_bundle_created_timestamp_seconds{bundle="site"} 1800000000
gpuhost_bundle_created_timestamp_seconds{bundle="own"} 0
gpuhost_bundle_imported_timestamp_seconds{bundle="site"} 1800000100
gpuhost_bundle_imported_timestamp_seconds{bundle="own"} 0
gpuhost_bundle_images{bundle="site"} 3
gpuhost_bundle_images{bundle="own"} 0
gpuhost_bundle_bytes{bundle="site"} 4096
gpuhost_bundle_bytes{bundle="own"} 0
gpuhost_certificate_expiry_timestamp_seconds{use="bundle-signer",bundle="site"} 1900000000
gpuhost_scrub_timestamp_seconds 1800000200
gpuhost_scrub_damaged_blobs 3
gpuhost_placement_timestamp_seconds 1800000300
gpuhost_placement_images{state="failed"} 1
gpuhost_placement_images{state="placed"} 0
gpuhost_placement_images{state="present"} 2
gpuhost_placement_images{state="wanted"} 0
gpuhost_placement_absent_pins 1
)";

TEST(HostMetrics, DocumentsBecomeSamples) {
    const Documents given = documents();
    EXPECT_EQ(samples(metrics_text(&given)), golden);
}

TEST(HostMetrics, UnchangedHostKeepsOutcomeOfLastChange) {
    Documents given = documents();
    given.operations = {{1, "driver.swap", "committed", "", 1'000'000, 2'000'000},
                        {2, "driver.swap", "failed", "", 3'000'000, 4'000'000},
                        {3, "driver.swap", "refused", "", 5'000'000, 6'000'000},
                        {4, "driver.swap", "cancelled", "", 7'000'000, 8'000'000}};
    const std::string text = samples(metrics_text(&given));
    const std::string outcome = "gpuhost_last_operation_outcome{";
    const std::size_t found = text.find(outcome);
    ASSERT_NE(found, std::string::npos);
    EXPECT_EQ(text.substr(found, text.find('\n', found) - found),
              outcome + R"(kind="driver.swap",outcome="failed"} 1)");
    EXPECT_EQ(text.find(outcome, found + 1), std::string::npos) << "one outcome for each kind";
}

TEST(HostMetrics, SilentDaemonLeavesTwoMetrics) {
    EXPECT_EQ(metrics_text(nullptr), R"(# HELP gpuhost_up Whether gpuhostd answered.
# TYPE gpuhost_up gauge
gpuhost_up 0
# HELP gpuhost_build_info Always 1, with the version of a program.
# TYPE gpuhost_build_info gauge
gpuhost_build_info{program="gpuhost-exporter",version=")" PACKAGE_VERSION R"("} 1
)");
}

TEST(HostMetrics, AbsentValuesHaveNoSamples) {
    Documents given;
    given.host = {{"state", "idle"},
                  {"ready", true},
                  {"components", {{"driver", component({{"loaded_version", ""}, {"selected", nullptr}})}}}};
    const std::string text = samples(metrics_text(&given));
    EXPECT_NE(text.find("gpuhost_ok 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("gpuhost_operation_running 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("gpuhost_driver_loaded 0\n"), std::string::npos) << text;
    for (const char* name :
         {"gpuhost_driver_info", "gpuhost_driver_selected_info", "gpuhost_driver_wanted_info",
          "gpuhost_driver_last_change", "gpuhost_toolkit_info", "gpuhost_scrub", "gpuhost_operation_progress",
          "gpuhost_bundle"})
        EXPECT_EQ(text.find(name), std::string::npos) << name;
}

TEST(HostMetrics, MalformedDocumentsStillGiveMetrics) {
    const Json wrong = {{"a", 7}, {"b", "x"}};
    for (const Json& part : {Json(), Json("x"), Json(7), Json::array({1, "x"}), wrong}) {
        Documents given;
        given.host = {{"state", part}, {"components", {{"driver", part}, {"images", {{"observed", part}}}}}};
        given.operation = part;
        given.history = {{"changes", part}};
        EXPECT_EQ(metrics_text(&given).rfind("# HELP gpuhost_up", 0), 0U);
        given.host = part;
        EXPECT_EQ(metrics_text(&given).rfind("# HELP gpuhost_up", 0), 0U);
    }
}

} // namespace
} // namespace gpuhost::exporter
