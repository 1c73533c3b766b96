// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::base {
namespace {

class RootTest : public testing::Test {
  protected:
    tests::TempDir directory_;
    Root root_ = directory_.root();
};

TEST_F(RootTest, WrittenFileKeepsContentAndMode) {
    ASSERT_TRUE(root_.make_directories("/var/lib/x"));
    ASSERT_TRUE(root_.write_atomic("/var/lib/x/file", "content\n", 0640));
    EXPECT_EQ(root_.read("/var/lib/x/file").value(), "content\n");
    EXPECT_EQ(root_.read_line("/var/lib/x/file").value(), "content");
    EXPECT_EQ(root_.stat("/var/lib/x/file")->st_mode & 07777U, 0640U);
}

TEST_F(RootTest, ReadingAPipeFailsWithoutBlocking) {
    ASSERT_EQ(::mkfifo(directory_.path("pipe").c_str(), 0644), 0);
    const auto read = root_.read("/pipe");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::BadContent) << read.error().message;
}

TEST_F(RootTest, UmaskDoesNotChangeTheMode) {
    const mode_t old = ::umask(0777);
    const auto written = root_.write_atomic("/file", "x", 0644);
    ::umask(old);
    ASSERT_TRUE(written);
    EXPECT_EQ(root_.stat("/file")->st_mode & 07777U, 0644U);
}

TEST_F(RootTest, AtomicWritesLeaveNoTemporaryFiles) {
    ASSERT_TRUE(root_.write_atomic("/file", "one"));
    ASSERT_TRUE(root_.write_atomic("/file", "two"));
    ASSERT_TRUE(root_.symlink_atomic("file", "/link"));
    EXPECT_EQ(root_.list("/").value(), (std::vector<std::string>{"file", "link"}));
}

TEST_F(RootTest, WritingOverADirectoryFailsAndKeepsIt) {
    ASSERT_TRUE(root_.make_directories("/taken"));
    EXPECT_FALSE(root_.write_atomic("/taken", "x"));
    EXPECT_EQ(root_.list("/").value(), std::vector<std::string>{"taken"});
}

TEST_F(RootTest, LinksCannotEscapeTheRoot) {
    ASSERT_EQ(::symlink("/etc", (directory_.path() + "/absolute").c_str()), 0);
    ASSERT_EQ(::symlink("../../../../etc", (directory_.path() + "/relative").c_str()), 0);
    EXPECT_EQ(root_.read("/absolute/passwd").error().code, Errc::NotFound);
    EXPECT_EQ(root_.read("/relative/passwd").error().code, Errc::NotFound);
    EXPECT_EQ(root_.read("/../../etc/passwd").error().code, Errc::NotFound);
    directory_.write("/etc/passwd", "inside");
    EXPECT_EQ(root_.read("/absolute/passwd").value(), "inside");
}

TEST_F(RootTest, RefusesMoreThanTheLimit) {
    ASSERT_TRUE(root_.write_atomic("/file", std::string(100, 'x')));
    EXPECT_EQ(root_.read("/file", 100)->size(), 100U);
    EXPECT_EQ(root_.read("/file", 99).error().code, Errc::BadContent);
}

TEST_F(RootTest, RemovesTreesWithoutFollowingLinks) {
    directory_.write("/keep/file", "x");
    directory_.write("/tree/deep/er/file", "x");
    ASSERT_TRUE(root_.symlink_atomic("/keep", "/tree/link"));
    ASSERT_TRUE(root_.remove_tree("/tree"));
    EXPECT_FALSE(root_.exists("/tree"));
    EXPECT_EQ(root_.read("/keep/file").value(), "x");
}

TEST_F(RootTest, RemoveSomeRemovesATreeInPortions) {
    for (int i = 0; i < 50; ++i)
        directory_.write("/tree/" + std::to_string(i % 5) + "/" + std::to_string(i), "x");
    int portions = 1;
    for (auto gone = root_.remove_some("/tree", 20); !gone.value(); gone = root_.remove_some("/tree", 20))
        ASSERT_LT(++portions, 10);
    EXPECT_GT(portions, 2);
    EXPECT_FALSE(root_.exists("/tree"));
}

TEST_F(RootTest, TooDeepTreeIsNotRemoved) {
    std::string path = "/tree";
    for (int i = 0; i < 70; ++i)
        path += "/d";
    ASSERT_TRUE(root_.make_directories(path));
    EXPECT_EQ(root_.remove_tree("/tree").error().code, Errc::BadContent);
}

TEST_F(RootTest, RemovingALinkKeepsItsTarget) {
    directory_.write("/keep/file", "x");
    ASSERT_TRUE(root_.symlink_atomic("/keep", "/link"));
    ASSERT_TRUE(root_.remove_tree("/link"));
    EXPECT_FALSE(root_.exists("/link"));
    EXPECT_TRUE(root_.exists("/keep/file"));
}

TEST_F(RootTest, RemovingAMissingFileSucceeds) {
    EXPECT_TRUE(root_.remove("/no/such/file"));
    EXPECT_TRUE(root_.remove("/none"));
    EXPECT_TRUE(root_.remove_tree("/none"));
}

TEST_F(RootTest, SymlinkReplacesAnExistingLink) {
    ASSERT_TRUE(root_.symlink_atomic("a", "/link"));
    ASSERT_TRUE(root_.symlink_atomic("b", "/link"));
    EXPECT_EQ(root_.read_link("/link").value(), "b");
}

TEST_F(RootTest, ErrorsNameThePath) {
    const auto read = root_.read("/no/such");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "/no/such: No such file or directory");
}

TEST(Root, OpenFailsWithoutADirectory) {
    EXPECT_FALSE(Root::open("/no/such/directory"));
    EXPECT_FALSE(Root::open("/dev/null"));
}

TEST(Root, HostPathsAreUnchangedOnTheHost) {
    const auto root = Root::open("/");
    ASSERT_TRUE(root);
    EXPECT_TRUE(root->is_host());
    EXPECT_EQ(root->host_path("/etc/x"), "/etc/x");
}

} // namespace
} // namespace gpuhost::base
