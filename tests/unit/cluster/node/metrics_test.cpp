// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/node/metrics.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

bool has(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, HostReportsItsConditionsAndUpgrade) {
    const std::string text =
        metrics_text({{"state", "connected"},
                      {"certificate_until", 1'900'000'000},
                      {"conditions", {{{"type", "gpuhost.io/DriverReady"}, {"status", "True"}}}},
                      {"upgrade",
                       {{"state", "upgrade-failed"},
                        {"version", "550.163.01"},
                        {"since", 1'800'000'000},
                        {"attempts", 3}}}});
    EXPECT_TRUE(has(text, "gpuhost_connected 1"));
    EXPECT_TRUE(has(text, R"(gpuhost_certificate_expiry_timestamp_seconds{use="cluster"} 1900000000)"));
    EXPECT_EQ(metrics_text({{"certificate_until", 0}}).find("certificate"), std::string::npos) << "a token";
    EXPECT_TRUE(has(text, R"(gpuhost_condition{type="gpuhost.io/DriverReady",status="True"} 1)"));
    EXPECT_TRUE(has(text, R"(gpuhost_upgrade_state{state="upgrade-failed",version="550.163.01"} 1)"));
    EXPECT_TRUE(has(text, "gpuhost_upgrade_state_since_seconds 1800000000"));
    EXPECT_TRUE(has(text, "gpuhost_upgrade_attempts 3"));
    EXPECT_EQ(text.find("gpu_operator"), std::string::npos);
}

TEST(Metrics, LeaderReportsTheOperatorsMetrics) {
    const Json pools = {{{"name", "a\"b"},
                         {"hosts", 10},
                         {"pending", 3},
                         {"in_progress", 2},
                         {"done", 4},
                         {"failed", 1},
                         {"available", 0}},
                        {{"name", "default"},
                         {"hosts", 5},
                         {"pending", 5},
                         {"in_progress", 0},
                         {"done", 0},
                         {"failed", 0},
                         {"available", 1}}};
    const Json gates = {{{"name", "quiet"}, {"open", false}},
                        {{"name", "slow"}, {"open", true}},
                        {{"name", "quiet"}, {"open", true}}};
    const std::string text = metrics_text(
        {{"state", "connected"},
         {"leader", {{"leads", true}, {"auto_upgrade", true}, {"pools", pools}, {"gates", gates}}}});
    for (const char* line :
         {"gpu_operator_auto_upgrade_enabled 1", "gpu_operator_driver_auto_upgrade_enabled 1",
          "gpu_operator_gpu_nodes_total 15", "gpu_operator_nodes_upgrades_in_progress 2",
          "gpu_operator_nodes_upgrades_done 4", "gpu_operator_nodes_upgrades_failed 1",
          "gpu_operator_nodes_upgrades_available 1", "gpu_operator_nodes_upgrades_pending 8",
          "gpuhost_leader 1", R"(gpuhost_gate_open{gate="quiet"} 0)", R"(gpuhost_gate_open{gate="slow"} 1)",
          R"(gpuhost_upgrade_hosts{pool="a\"b",state="pending"} 3)"})
        EXPECT_TRUE(has(text, line)) << line << "\n" << text;
    const std::string other = metrics_text({{"leader", {{"leads", false}}}});
    EXPECT_TRUE(has(other, "gpuhost_leader 0"));
    EXPECT_EQ(other.find("gpu_operator"), std::string::npos)
        << "a host that does not lead reports no fleet metrics";
}

TEST(Metrics, MalformedStatusStillGivesMetrics) {
    for (const Json& status : {Json(), Json("x"), Json({{"conditions", 7}, {"upgrade", "x"}, {"leader", 1}})})
        EXPECT_TRUE(has(metrics_text(status), "gpuhost_connected 0"));
}

} // namespace
} // namespace gpuhost::cluster
