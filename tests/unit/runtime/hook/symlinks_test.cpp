// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/symlinks.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

TEST(HookSymlinks, TargetsAreKeptUnchanged) {
    const tests::TempDir dir;
    const auto root = ContainerRoot::open(dir.path());
    ASSERT_TRUE(create_symlinks(*root, {"libcuda.so.1::/lib/libcuda.so", "/a/../b::/lib/x"}));
    EXPECT_EQ(std::filesystem::read_symlink(dir.path("lib/libcuda.so")), "libcuda.so.1");
    EXPECT_EQ(std::filesystem::read_symlink(dir.path("lib/x")), "/a/../b");
}

TEST(HookSymlinks, InvalidLinkChangesNothing) {
    const tests::TempDir dir;
    const auto root = ContainerRoot::open(dir.path());
    for (const char* wrong : {"", "a", "::", "a::", "::/b", "a:/b", "a::/b::/c", "a:::/b"})
        EXPECT_EQ(create_symlinks(*root, {"a::/lib/a", wrong}).error().code, Errc::InvalidArgument) << wrong;
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

} // namespace
} // namespace gpuhost::runtime
