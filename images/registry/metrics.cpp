// SPDX-License-Identifier: Apache-2.0
#include "images/registry/metrics.hpp"

#include "daemon/base/prometheus.hpp"

namespace gpuhost::images {

void RegistryMetrics::count(std::string_view endpoint, unsigned status) {
    const std::lock_guard lock(mutex_);
    ++requests_[{endpoint, status}];
}

std::string RegistryMetrics::text(const References& references) const {
    base::PrometheusText metrics;
    metrics.family("gpuhost_registry_requests_total", "Requests since the registry was started.", "counter");
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, count] : requests_)
            metrics.sample(count,
                           {{"endpoint", std::string(key.first)}, {"code", std::to_string(key.second)}});
    }
    metrics.one("gpuhost_registry_sent_bytes_total", "Bytes of all bodies that were sent completely.", sent_,
                "counter");
    metrics.one("gpuhost_registry_connections", "Open connections.", connections_);
    metrics.one("gpuhost_registry_images", "Image names that resolve to an image.", references.size());
    metrics.one("gpuhost_registry_bundles", "Bundles in the catalogue.", references.bundles());
    metrics.one("gpuhost_registry_unreadable_records", "Problems with records of bundles.",
                references.problems().size());
    metrics.one("gpuhost_registry_newest_bundle_timestamp_seconds", "Date of the newest bundle.",
                references.newest());
    return std::move(metrics.text);
}

} // namespace gpuhost::images
