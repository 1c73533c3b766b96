// SPDX-License-Identifier: Apache-2.0
// The parts of metrics_text(). docs/make_reference.py finds each metric by its call of family() or one().
#pragma once

#include "daemon/base/prometheus.hpp"
#include "daemon/exporter/metrics.hpp"

#include <string_view>

namespace gpuhost::exporter {

/// Returns what a component observed; null if that failed.
[[nodiscard]] inline const base::Json& observed(const base::Json& host, std::string_view component) {
    return base::member(base::member(base::member(host, "components"), component), "observed");
}

[[nodiscard]] inline std::int64_t count_of(const base::Json& object, std::string_view key) {
    return static_cast<std::int64_t>(base::list_of(object, key).size());
}

void add_driver(base::PrometheusText& text, const base::Json& host, const base::Json& history);
void add_cdi(base::PrometheusText& text, const base::Json& cdi);
void add_runtimes(base::PrometheusText& text, const base::Json& runtime);
void add_toolkit(base::PrometheusText& text, const base::Json& toolkit);
void add_images(base::PrometheusText& text, const base::Json& images);
void add_operations(base::PrometheusText& text, const Documents& documents);

} // namespace gpuhost::exporter
