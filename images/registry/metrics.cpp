// SPDX-License-Identifier: Apache-2.0
#include "images/registry/metrics.hpp"

namespace gpuhost::images {

namespace {

std::string head(std::string_view name, std::string_view type, std::string_view help) {
    return "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " + std::string(name) + " " +
           std::string(type) + "\n";
}

std::string single(std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    return head(name, type, help) + std::string(name) + " " + std::to_string(value) + "\n";
}

} // namespace

void RegistryMetrics::count(std::string_view endpoint, unsigned status) {
    const std::lock_guard lock(mutex_);
    ++requests_[{endpoint, status}];
}

std::string RegistryMetrics::text(const References& references) const {
    std::string text =
        head("gpuhost_registry_requests_total", "counter", "Requests since the registry was started.");
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, count] : requests_)
            text += "gpuhost_registry_requests_total{endpoint=\"" + std::string(key.first) + "\",code=\"" +
                    std::to_string(key.second) + "\"} " + std::to_string(count) + "\n";
    }
    return text +
           single("gpuhost_registry_sent_bytes_total", "counter",
                  "Bytes of all bodies that were sent completely.", sent_) +
           single("gpuhost_registry_connections", "gauge", "Open connections.",
                  static_cast<std::uint64_t>(connections_)) +
           single("gpuhost_registry_images", "gauge", "Image names that resolve to an image.",
                  references.size()) +
           single("gpuhost_registry_bundles", "gauge", "Bundles in the catalogue.", references.bundles()) +
           single("gpuhost_registry_unreadable_records", "gauge", "Problems with records of bundles.",
                  references.problems().size()) +
           single("gpuhost_registry_newest_bundle_timestamp_seconds", "gauge", "Date of the newest bundle.",
                  references.newest());
}

} // namespace gpuhost::images
