// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/tree.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {
namespace {

using base::Errc;

class TreeTest : public testing::Test {
  protected:
    base::Result<std::vector<TreeFile>> hash(const TreeLimits& limits = {}) {
        const auto fd = root_.open_file("/tree", O_RDONLY | O_DIRECTORY);
        return hash_tree(fd->get(), "tree", {}, limits);
    }
    void expect_refused(const std::string& reason, const TreeLimits& limits = {}) {
        const auto files = hash(limits);
        ASSERT_FALSE(files) << "expected: " << reason;
        EXPECT_EQ(files.error().code, Errc::BadContent);
        EXPECT_NE(files.error().message.find(reason), std::string::npos) << files.error().message;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(TreeTest, ListsEveryFileWithDigestInOrder) {
    directory_.write("tree/b/program", "abc");
    directory_.write("tree/a", "");
    ASSERT_EQ(::chmod(directory_.path("tree/b/program").c_str(), 0755), 0);
    ASSERT_EQ(::symlink("program", directory_.path("tree/b/link").c_str()), 0);
    const auto files = hash();
    ASSERT_TRUE(files) << files.error().message;
    const std::vector<TreeFile> expected{{"a", "", false, 0, sha256("")},
                                         {"b/link", "program", false, 0, ""},
                                         {"b/program", "", true, 3, sha256("abc")}};
    EXPECT_EQ(*files, expected);
}

TEST_F(TreeTest, RefusesLinksOutsideTheTree) {
    directory_.write("tree/a", "");
    ASSERT_EQ(::symlink("../../etc/passwd", directory_.path("tree/link").c_str()), 0);
    expect_refused("points outside");
}

TEST_F(TreeTest, RefusesFilesWithAnotherHardLink) {
    directory_.write("elsewhere", "x");
    directory_.write("tree/a", "");
    ASSERT_EQ(::link(directory_.path("elsewhere").c_str(), directory_.path("tree/b").c_str()), 0);
    expect_refused("more than one name");
}

TEST_F(TreeTest, RefusesPipesWithoutBlocking) {
    directory_.write("tree/a", "");
    ASSERT_EQ(::mkfifo(directory_.path("tree/pipe").c_str(), 0600), 0);
    expect_refused("device, socket or pipe");
}

TEST_F(TreeTest, RefusesTreesOverALimit) {
    directory_.write("tree/a/b/c", "0123456789");
    directory_.write("tree/d", "0123456789");
    expect_refused("more than 3 files", {3, 100, 10});
    expect_refused("in all", {100, 19, 10});
    expect_refused("too deep", {100, 100, 1});
    EXPECT_TRUE(hash({100, 20, 2}));
}

TEST_F(TreeTest, SealingRemovesWriteAndSetuidBits) {
    directory_.write("tree/bin/program", "x");
    directory_.write("tree/file", "x");
    ASSERT_EQ(::chmod(directory_.path("tree/bin/program").c_str(), 06777), 0);
    const auto fd = root_.open_file("/tree", O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(seal_tree(fd->get(), "tree"));
    EXPECT_EQ(root_.stat("/tree/bin/program")->st_mode & 07777U, 0555U);
    EXPECT_EQ(root_.stat("/tree/file")->st_mode & 07777U, 0444U);
    EXPECT_EQ(root_.stat("/tree/bin")->st_mode & 07777U, 0755U);
    EXPECT_EQ(root_.stat("/tree")->st_mode & 07777U, 0755U);
    EXPECT_EQ(root_.stat("/tree/file")->st_uid, ::geteuid());
}

TEST(LinkTest, LinkTargetIsInsideOrOutside) {
    EXPECT_TRUE(link_stays_inside("lib/a", "b"));
    EXPECT_TRUE(link_stays_inside("lib/a", "../bin/b"));
    EXPECT_TRUE(link_stays_inside("lib/a", "x/../../b"));
    EXPECT_FALSE(link_stays_inside("lib/a", "../../b"));
    EXPECT_FALSE(link_stays_inside("a", ".."));
    EXPECT_FALSE(link_stays_inside("a", "/etc/passwd"));
    EXPECT_FALSE(link_stays_inside("a", ""));
    EXPECT_FALSE(link_stays_inside("lib/a", "x/../../../lib/b"));
}

} // namespace
} // namespace gpuhost::content
