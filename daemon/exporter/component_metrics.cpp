// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/add_metrics.hpp"

#include <array>
#include <map>

namespace gpuhost::exporter {

using base::int_or;
using base::Json;
using base::list_of;
using base::member;
using base::PrometheusText;
using base::string_or;

namespace {

constexpr std::array runtime_states{"ready", "configured", "by-hand", "restored", "problem", "changing"};
constexpr std::array placement_states{"present", "placed", "wanted", "failed"};

/// A number of each bundle.
struct BundleNumber {
    const char* key; ///< member of the bundle's document
    const char* name;
    const char* help;
};
constexpr std::array bundle_numbers{
    BundleNumber{"generation", "gpuhost_bundle_generation", "Generation of each bundle."},
    BundleNumber{"created", "gpuhost_bundle_created_timestamp_seconds", "When each bundle was made."},
    BundleNumber{"imported", "gpuhost_bundle_imported_timestamp_seconds", "When each bundle was imported."},
    BundleNumber{"images", "gpuhost_bundle_images", "Images of each bundle on this host."},
    BundleNumber{"bytes", "gpuhost_bundle_bytes",
                 "Size of the blobs of each bundle on this host; bundles may share blobs."},
};

bool readable(const Json& bundle) {
    return !member(bundle, "problem").is_string();
}

void add_bundles(PrometheusText& text, const Json& bundles) {
    std::int64_t unreadable = 0;
    for (const Json& bundle : bundles)
        unreadable += readable(bundle) ? 0 : 1;
    text.one("gpuhost_bundles", "Bundles on this host.", static_cast<std::int64_t>(bundles.size()));
    text.one("gpuhost_bundles_unreadable", "Bundles whose record can't be read.", unreadable);
    for (const BundleNumber& number : bundle_numbers) {
        text.family(number.name, number.help);
        for (const Json& bundle : bundles)
            if (readable(bundle))
                text.sample(int_or(bundle, number.key, 0), {{"bundle", string_or(bundle, "name", "")}});
    }
    text.family("gpuhost_certificate_expiry_timestamp_seconds", "When a certificate expires.");
    for (const Json& bundle : bundles)
        if (const std::int64_t end = int_or(member(bundle, "signer"), "not_after", 0); end > 0)
            text.sample(end, {{"use", "bundle-signer"}, {"bundle", string_or(bundle, "name", "")}});
}

void add_scrub(PrometheusText& text, const Json& scrub) {
    if (!scrub.is_object())
        return;
    text.one("gpuhost_scrub_timestamp_seconds", "End of the last scrub of the blobs.",
             int_or(scrub, "finished", 0));
    text.one("gpuhost_scrub_damaged_blobs", "Damaged blobs that the last scrub found.",
             count_of(scrub, "damaged") + int_or(scrub, "more", 0));
}

void add_placement(PrometheusText& text, const Json& placement) {
    if (!placement.is_object())
        return;
    std::map<std::string_view, std::int64_t> images;
    for (const char* state : placement_states)
        images[state] = 0;
    for (const Json& image : list_of(placement, "images"))
        if (const auto one = images.find(string_or(image, "state", "")); one != images.end())
            ++one->second;
    text.one("gpuhost_placement_timestamp_seconds",
             "Last check of the images that container runtimes pull ahead of need.",
             int_or(placement, "checked", 0));
    text.family("gpuhost_placement_images", "These images, by state.");
    for (const auto& [state, number] : images)
        text.sample(number, {{"state", std::string(state)}});
    text.one("gpuhost_placement_absent_pins", "Pins that no bundle has an image for.",
             count_of(placement, "absent"));
}

} // namespace

void add_cdi(PrometheusText& text, const Json& cdi) {
    if (cdi.is_object())
        text.one("gpuhost_cdi_devices", "Devices in the CDI specifications, without names by UUID.",
                 count_of(member(cdi, "record"), "devices"));
}

void add_runtimes(PrometheusText& text, const Json& runtime) {
    const Json& runtimes = list_of(runtime, "runtimes");
    text.family("gpuhost_runtime_state",
                "1 for the present state of each container runtime, 0 for each other state.");
    for (const Json& one : runtimes)
        for (const std::string_view state : runtime_states)
            text.sample(string_or(one, "state", "") == state ? 1 : 0,
                        {{"runtime", string_or(one, "name", "")}, {"state", std::string(state)}});
    text.family("gpuhost_runtime_restart_wanted",
                "Whether each container runtime runs with its earlier configuration.");
    for (const Json& one : runtimes)
        text.sample(base::bool_or(one, "restart_wanted", false) ? 1 : 0,
                    {{"runtime", string_or(one, "name", "")}});
}

void add_toolkit(PrometheusText& text, const Json& toolkit) {
    if (!toolkit.is_object())
        return;
    const Json& stored = list_of(member(toolkit, "store"), "toolkits");
    std::int64_t bytes = 0;
    for (const Json& one : stored)
        bytes += int_or(one, "bytes", 0);
    text.family("gpuhost_toolkit_info", "1 for NVIDIA's container toolkit of the store that is in use.");
    if (const std::string version = string_or(toolkit, "selected", ""); !version.empty())
        text.sample(1, {{"version", version}});
    text.one("gpuhost_toolkit_store_versions", "Toolkits in the store.",
             static_cast<std::int64_t>(stored.size()));
    text.one("gpuhost_toolkit_store_bytes", "Size of the files of these toolkits.", bytes);
}

void add_images(PrometheusText& text, const Json& images) {
    if (!images.is_object())
        return;
    add_bundles(text, list_of(images, "bundles"));
    add_scrub(text, member(images, "scrub"));
    add_placement(text, member(images, "placement"));
}

} // namespace gpuhost::exporter
