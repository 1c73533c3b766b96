// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/former_names.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::core {
namespace {

constexpr const char* former_file = "/var/lib/gpuhost/cluster-wish.conf";
const std::string present_file(cluster_desired_file);

TEST(FormerNames, FormerKindsAndKeysGetPresentNames) {
    EXPECT_EQ(present_kind("door.shut"), "autoload.block");
    EXPECT_EQ(present_kind("driver.swap"), "driver.swap");
    EXPECT_EQ(present_key("Runtime", "Configure"), "Manage");
    EXPECT_EQ(present_key("CDI", "Configure"), "Configure");
}

TEST(FormerNames, FormerFileIsRenamedOnce) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write(former_file, "former");
    ASSERT_TRUE(rename_former_files(root));
    ASSERT_TRUE(rename_former_files(root));
    EXPECT_FALSE(root.exists(former_file));
    EXPECT_EQ(root.read(present_file, 100).value_or(""), "former");
}

TEST(FormerNames, PresentFileReplacesTheFormerOne) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    directory.write(former_file, "former");
    directory.write(present_file, "present");
    ASSERT_TRUE(rename_former_files(root));
    EXPECT_FALSE(root.exists(former_file));
    EXPECT_EQ(root.read(present_file, 100).value_or(""), "present");
}

} // namespace
} // namespace gpuhost::core
