// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/prometheus.hpp"

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

TEST(PrometheusText, WritesFamiliesWithSamplesAndEscapedLabels) {
    PrometheusText metrics;
    metrics.one("up", "Whether it runs.", 1);
    metrics.family("requests_total", "Requests.", "counter");
    metrics.sample(7, {{"endpoint", "blob"}, {"code", "206"}});
    metrics.sample(-1, {{"endpoint", "a\"b\\c\nd"}});
    EXPECT_EQ(metrics.text, "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\n"
                            "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
                            "requests_total{endpoint=\"blob\",code=\"206\"} 7\n"
                            "requests_total{endpoint=\"a\\\"b\\\\c\\nd\"} -1\n");
}

TEST(PrometheusText, FamilyWithoutSamplesLeavesNoText) {
    PrometheusText metrics;
    metrics.family("first", "Empty.");
    metrics.family("second", "A share.");
    metrics.ratio(1.0 / 3);
    EXPECT_EQ(metrics.text, "# HELP second A share.\n# TYPE second gauge\nsecond 0.333\n");
}

} // namespace
} // namespace gpuhost::base
