// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/gpu_labels.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

namespace {

/// An instance of Node Feature Discovery may have a prefix of its own: "NAME.nfd.node.kubernetes.io/…".
constexpr std::string_view nfd_annotation = "nfd.node.kubernetes.io/feature-labels";
constexpr std::string_view vendor = "nvidia.com/";
constexpr std::size_t most_logged = 5; ///< labels in a line of the log

constexpr std::array<std::string_view, 23> names{"gpu.clique",
                                                 "gpu.compute.major",
                                                 "gpu.compute.minor",
                                                 "gpu.count",
                                                 "gpu.engines.copy",
                                                 "gpu.engines.decoder",
                                                 "gpu.engines.encoder",
                                                 "gpu.engines.jpeg",
                                                 "gpu.engines.ofa",
                                                 "gpu.family",
                                                 "gpu.machine",
                                                 "gpu.memory",
                                                 "gpu.mode",
                                                 "gpu.multiprocessors",
                                                 "gpu.product",
                                                 "gpu.replicas",
                                                 "gpu.sharing-strategy",
                                                 "gpu.slices.ci",
                                                 "gpu.slices.gi",
                                                 "mig.capable",
                                                 "mig.strategy",
                                                 "mps.capable",
                                                 "vgpu.present"};

std::set<std::string> words(const std::string& text) {
    const auto parts = base::split(text, ',');
    std::set<std::string> made(parts.begin(), parts.end());
    made.erase("");
    return made;
}

/// Returns the names of labels that Node Feature Discovery owns.
std::set<std::string> labels_of_nfd(const Json& annotations) {
    std::set<std::string> owned;
    if (!annotations.is_object())
        return owned;
    for (const auto& [key, value] : annotations.items())
        if (value.is_string() &&
            (key == nfd_annotation || base::ends_with(key, "." + std::string(nfd_annotation))))
            owned.merge(words(value.get<std::string>()));
    return owned;
}

std::string log_line(const std::vector<std::string>& changes) {
    const std::size_t shown = std::min(most_logged, changes.size());
    const std::vector<std::string> first(changes.begin(),
                                         changes.begin() + static_cast<std::ptrdiff_t>(shown));
    return "labels of the GPUs: " + base::join(first, ", ") +
           (shown < changes.size() ? " and " + std::to_string(changes.size() - shown) + " more" : "");
}

} // namespace

bool describes_gpus(std::string_view label) {
    if (!base::starts_with(label, vendor))
        return false;
    const std::string_view name = label.substr(vendor.size());
    return base::starts_with(name, "cuda.") || base::starts_with(name, "mig-") || base::contains(names, name);
}

std::vector<NodePatch> gpu_label_patches(const Json& node, const std::map<std::string, std::string>& wanted) {
    const Json& metadata = member(node, "metadata");
    const Json& annotations = member(metadata, "annotations");
    const Json& labels = member(metadata, "labels");
    const std::set<std::string> others = labels_of_nfd(annotations);
    const std::string before = string_or(annotations, gpu_labels_annotation, "");
    const Json version{{"metadata", {{"resourceVersion", string_or(metadata, "resourceVersion", "")}}}};
    const auto is_there = [&](const std::string& name) {
        return labels.is_object() && labels.contains(name);
    };
    std::vector<NodePatch> patches;
    std::vector<std::string> ours;
    for (const auto& [name, value] : wanted) {
        if (!describes_gpus(name) || others.count(name) != 0)
            continue;
        ours.push_back(name);
        if (is_there(name) && string_or(labels, name, "") == value)
            continue;
        patches.push_back({version, {name + "=" + value}});
        patches.back().body["metadata"]["labels"][name] = value;
    }
    // Removals are in one patch with the annotation: a label that it does not name is not removed later.
    NodePatch names{version, {}};
    for (const std::string& name : words(before))
        if (describes_gpus(name) && others.count(name) == 0 && wanted.count(name) == 0 && is_there(name)) {
            names.body["metadata"]["labels"][name] = Json();
            names.log_lines.push_back(name + " is removed");
        }
    const std::string after = base::join(ours, ",");
    if (after != before)
        names.body["metadata"]["annotations"][gpu_labels_annotation] = after.empty() ? Json() : Json(after);
    if (names.body != version)
        patches.push_back(std::move(names));
    return patches;
}

NodePatch joined_labels(std::vector<NodePatch>&& patches) {
    NodePatch patch = joined(std::move(patches));
    if (!patch.log_lines.empty())
        patch.log_lines = {log_line(patch.log_lines)};
    return patch;
}

} // namespace gpuhost::cluster
