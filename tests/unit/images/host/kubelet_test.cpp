// SPDX-License-Identifier: Apache-2.0
#include "images/host/kubelet.hpp"
#include "images/store/blob_store.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

TEST(Kubelet, ThresholdOfImageGarbageCollectionIsRead) {
    const std::pair<std::string, unsigned> rows[] = {
        {"", 85},
        {"kind: KubeletConfiguration\nimageGCHighThresholdPercent: 70\n", 70},
        {"imageGCHighThresholdPercent: 100", 100},
        {"# imageGCHighThresholdPercent: 10\nimageGCHighThresholdPercent: \"60\" # mine\n", 60},
        {R"({"a": 1, "imageGCHighThresholdPercent": 55, "b": 2})", 55},
        {"imageGCHighThresholdPercent: many\n", 85},
        {"imageGCHighThresholdPercent: 900\n", 85},
        {"imageGCHighThresholdPercent", 85},
    };
    for (const auto& [text, percent] : rows)
        EXPECT_EQ(image_gc_threshold(text), percent) << text;
}

TEST(Kubelet, WarnsOnlyIfTheKubeletWatchesTheStore) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    ASSERT_TRUE(root.make_directories(blobs_directory));
    const std::uint64_t all = root.free_bytes(blobs_directory).value();
    EXPECT_EQ(kubelet_threshold(root), std::nullopt);
    ASSERT_TRUE(root.make_directories("/var/lib/kubelet"));
    EXPECT_EQ(kubelet_threshold(root), 85U) << "the kubelet's default";
    directory.write("var/lib/kubelet/config.yaml", "imageGCHighThresholdPercent: 99\n");
    EXPECT_EQ(kubelet_threshold(root), 99U);
    EXPECT_EQ(image_gc_warning(root, all, 99), "") << "no images on this file system";
    ASSERT_TRUE(root.make_directories("/var/lib/containerd"));
    EXPECT_EQ(image_gc_warning(root, all, std::nullopt), "") << "no kubelet";
    EXPECT_NE(image_gc_warning(root, all, 99).find("at 99 % the kubelet deletes images"), std::string::npos)
        << image_gc_warning(root, all, 99);
    EXPECT_EQ(image_gc_warning(root, 0, 0), "") << "no bytes are written";
    EXPECT_NE(image_gc_warning(root, 1, 0), "");
    ASSERT_TRUE(root.remove_tree("/var/lib/gpuhost"));
    EXPECT_NE(image_gc_warning(root, 1, 0), "") << "in the future directory of the store";
}

} // namespace
} // namespace gpuhost::images
