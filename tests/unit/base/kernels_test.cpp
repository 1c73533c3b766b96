// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/kernels.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

TEST(InstalledKernels, OnlyReleasesWithAKernelsOwnFiles) {
    const tests::TempDir directory;
    const Root root = directory.root();
    EXPECT_TRUE(installed_kernels(root).empty()) << "without /lib/modules";
    directory.write("lib/modules/6.1.0-50-amd64/kernel/drivers/a.ko", "");
    directory.write("lib/modules/5.14.0-503.el9.x86_64+rt/modules.builtin", "");
    directory.write("lib/modules/6.1.0-49-amd64/updates/dkms/nvidia.ko", "");
    directory.write("lib/modules/6.1.0-48-amd64", "a file");
    directory.write("lib/modules/6.1.0-50-amd64 (copy)/kernel/drivers/a.ko", "");
    directory.write("lib/modules/kabi/modules.builtin", "");
    EXPECT_EQ(installed_kernels(root),
              (std::vector<std::string>{"5.14.0-503.el9.x86_64+rt", "6.1.0-50-amd64"}));
    EXPECT_TRUE(kernel_is_installed(root, "6.1.0-50-amd64"));
    EXPECT_FALSE(kernel_is_installed(root, "6.1.0-49-amd64")) << "its package is removed";
    EXPECT_FALSE(kernel_is_installed(root, "../modules/6.1.0-50-amd64")) << "not a release";
}

} // namespace
} // namespace gpuhost::base
