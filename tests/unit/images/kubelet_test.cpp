// SPDX-License-Identifier: Apache-2.0
#include "images/blob_store.hpp"
#include "images/kubelet.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

TEST(Kubelet, SaysFromWhenOnItDeletesImages) {
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

TEST(Kubelet, IsWarnedOfOnlyWhereItLooks) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    ASSERT_TRUE(root.make_directories(blobs_directory));
    const std::uint64_t all = root.free_bytes(blobs_directory).value();
    EXPECT_EQ(image_gc_warning(root, all), "") << "no kubelet";
    directory.write("var/lib/kubelet/config.yaml", "imageGCHighThresholdPercent: 99\n");
    EXPECT_EQ(image_gc_warning(root, all), "") << "no images on this file system";
    ASSERT_TRUE(root.make_directories("/var/lib/containerd"));
    EXPECT_NE(image_gc_warning(root, all).find("at 99 % the kubelet deletes images"), std::string::npos)
        << image_gc_warning(root, all);
    EXPECT_EQ(image_gc_warning(root, 0), "") << "nothing is written";
    directory.write("var/lib/kubelet/config.yaml", "imageGCHighThresholdPercent: 0\n");
    EXPECT_NE(image_gc_warning(root, 1), "");
}

} // namespace
} // namespace gpuhost::images
