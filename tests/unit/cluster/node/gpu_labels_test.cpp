// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/gpu_labels.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using Labels = std::map<std::string, std::string>;

constexpr const char* product = "nvidia.com/gpu.product";
constexpr const char* count = "nvidia.com/gpu.count";

Json node(Json labels, Json annotations) {
    return {
        {"metadata",
         {{"resourceVersion", "7"}, {"labels", std::move(labels)}, {"annotations", std::move(annotations)}}}};
}

NodePatch gpu_label_patch(const Json& node, const Labels& wanted) {
    return joined_labels(gpu_label_patches(node, wanted));
}

/// Applies a merge patch as a server does.
Json patched(Json node, const NodePatch& patch) {
    node.merge_patch(patch.body);
    return node;
}

TEST(GpuLabels, WritesLabelsAndTheirNames) {
    const NodePatch patch = gpu_label_patch(Json::object(), {{product, "H100"}, {count, "8"}});
    EXPECT_EQ(patch.body["metadata"]["labels"], (Json{{product, "H100"}, {count, "8"}}));
    EXPECT_EQ(patch.body["metadata"]["annotations"][gpu_labels_annotation],
              std::string(count) + "," + product);
    ASSERT_EQ(patch.log_lines.size(), 1U);
}

TEST(GpuLabels, SecondPatchIsEmpty) {
    const Labels wanted{{product, "H100"}, {"nvidia.com/cuda.driver.rev", ""}};
    const Json after = patched(node(Json::object(), Json::object()), gpu_label_patch(Json::object(), wanted));
    EXPECT_TRUE(gpu_label_patch(after, wanted).body.is_null());
}

TEST(GpuLabels, RemovesOnlyOwnLabels) {
    const Json before = node({{product, "H100"}, {count, "8"}, {"nvidia.com/gpu.memory", "1"}, {"site", "a"}},
                             {{gpu_labels_annotation, std::string(product) + "," + count}});
    const NodePatch patch = gpu_label_patch(before, {{count, "7"}});
    EXPECT_EQ(patch.body["metadata"]["labels"], (Json{{product, nullptr}, {count, "7"}}));
    EXPECT_EQ(patch.body["metadata"]["annotations"][gpu_labels_annotation], count);
    EXPECT_EQ(patch.body["metadata"]["resourceVersion"], "7");
    const Json none = patched(before, gpu_label_patch(before, {}))["metadata"];
    EXPECT_EQ(none["labels"], (Json{{"nvidia.com/gpu.memory", "1"}, {"site", "a"}}));
    EXPECT_EQ(none["annotations"], Json::object());
}

TEST(GpuLabels, LeavesLabelsOfNodeFeatureDiscovery) {
    for (const char* owner :
         {"nfd.node.kubernetes.io/feature-labels", "a.nfd.node.kubernetes.io/feature-labels"}) {
        const Json before = node({{product, "H100"}}, {{owner, std::string("pci-10de.present,") + product},
                                                       {gpu_labels_annotation, product}});
        const NodePatch patch = gpu_label_patch(before, {{product, "H200"}, {count, "8"}});
        EXPECT_EQ(patch.body["metadata"]["labels"], (Json{{count, "8"}})) << owner;
        EXPECT_EQ(patch.body["metadata"]["annotations"][gpu_labels_annotation], count);
        EXPECT_EQ(patched(before, gpu_label_patch(before, {}))["metadata"]["labels"],
                  (Json{{product, "H100"}}));
    }
}

TEST(GpuLabels, NeverTouchesWishes) {
    Labels wishes;
    std::string names;
    for (const char* name :
         {"nvidia.com/mig.config", "nvidia.com/vgpu.config", "nvidia.com/device-plugin.config",
          "nvidia.com/gpu.workload.config", "nvidia.com/gpu.deploy.dcgm", "nvidia.com/gpu.present",
          "feature.node.kubernetes.io/pci-10de.present", "site"}) {
        EXPECT_FALSE(describes_gpus(name)) << name;
        wishes[name] = "x";
        names += std::string(name) + ",";
    }
    EXPECT_TRUE(gpu_label_patch(node(Json::object(), Json::object()), wishes).body.is_null());
    const NodePatch patch = gpu_label_patch(node(wishes, {{gpu_labels_annotation, names}}), {});
    EXPECT_FALSE(patch.body["metadata"].contains("labels")) << "an edited annotation removes nothing";
    EXPECT_TRUE(patch.body["metadata"]["annotations"][gpu_labels_annotation].is_null());
    for (const char* name : {"nvidia.com/mig-1g.10gb.me.count", "nvidia.com/cuda.runtime.major"})
        EXPECT_TRUE(describes_gpus(name)) << name;
}

} // namespace
} // namespace gpuhost::cluster
