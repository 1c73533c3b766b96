// SPDX-License-Identifier: Apache-2.0
// Tests that need no privileges; tests/host/hook_test.py has the others.
#include "daemon/runtime/hook/container_root.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
namespace fs = std::filesystem;

class ContainerRootTest : public testing::Test {
  protected:
    ContainerRootTest() {
        dir.write("outside/secret", "secret");
        fs::create_directory(dir.path("root"));
        root = ContainerRoot::open(dir.path("root"));
    }
    [[nodiscard]] std::string in(const std::string& path) const { return dir.path("root" + path); }

    tests::TempDir dir;
    base::Result<ContainerRoot> root = base::fail(base::Error{});
};

TEST_F(ContainerRootTest, RefusesTheHostsRoot) {
    EXPECT_EQ(ContainerRoot::open("/").error().code, Errc::InvalidArgument);
    EXPECT_EQ(ContainerRoot::open("/..").error().code, Errc::InvalidArgument);
    EXPECT_EQ(ContainerRoot::open(dir.path("none")).error().code, Errc::NotFound);
    EXPECT_EQ(ContainerRoot::open(dir.path("outside/secret")).error().code, Errc::NotFound);
}

TEST_F(ContainerRootTest, WriteCreatesMissingDirectories) {
    ASSERT_TRUE(root->write("/etc/a.d/b", "one"));
    EXPECT_EQ(dir.read("root/etc/a.d/b"), "one");
    EXPECT_EQ(fs::status(in("/etc/a.d/b")).permissions(), fs::perms(0644));
    EXPECT_EQ(std::distance(fs::directory_iterator(in("/etc/a.d")), {}), 1) << "no temporary file is left";
}

TEST_F(ContainerRootTest, UnchangedFilesAreNotReplaced) {
    const auto inode = [&](const std::string& path) {
        struct stat st {};
        (void)::lstat(in(path).c_str(), &st);
        return st.st_ino;
    };
    ASSERT_TRUE(root->write("/file", "one"));
    ASSERT_TRUE(root->symlink("target", "/link"));
    const auto file = inode("/file");
    const auto link = inode("/link");
    ASSERT_TRUE(root->write("/file", "one"));
    ASSERT_TRUE(root->symlink("target", "/link"));
    EXPECT_EQ(inode("/file"), file);
    EXPECT_EQ(inode("/link"), link);
    ASSERT_TRUE(root->write("/file", "two"));
    EXPECT_NE(inode("/file"), file);
}

TEST_F(ContainerRootTest, LinksAreResolvedInsideTheRoot) {
    fs::create_directories(in("/real"));
    fs::create_symlink("/real", in("/absolute"));
    fs::create_symlink("../../../real", in("/relative"));
    ASSERT_TRUE(root->write("/absolute/a", "a"));
    ASSERT_TRUE(root->write("/relative/b", "b"));
    EXPECT_EQ(dir.read("root/real/a"), "a");
    EXPECT_EQ(dir.read("root/real/b"), "b");
    fs::create_symlink(dir.path("outside/secret"), in("/secret"));
    EXPECT_EQ(root->read("/secret").error().code, Errc::NotFound);
    ASSERT_TRUE(root->write("/secret", "mine"));
    EXPECT_EQ(dir.read("outside/secret"), "secret");
}

TEST_F(ContainerRootTest, ReadsRegularFilesOnly) {
    ASSERT_EQ(::mkfifo(in("/pipe").c_str(), 0600), 0);
    fs::create_directory(in("/directory"));
    dir.write("root/large", std::string(ContainerRoot::max_file + 1, 'x'));
    dir.write("root/whole", std::string(ContainerRoot::max_file, 'x'));
    for (const char* path : {"/pipe", "/directory", "/large"})
        EXPECT_EQ(root->read(path).error().code, Errc::BadContent) << path;
    EXPECT_TRUE(root->read("/whole"));
}

TEST_F(ContainerRootTest, InvalidPathsAreRefused) {
    for (const char* path : {"", "file", "/", "/a/", "/a/..", "/."}) {
        EXPECT_EQ(root->write(path, "x").error().code, Errc::InvalidArgument) << path;
        EXPECT_EQ(root->symlink("x", path).error().code, Errc::InvalidArgument) << path;
        EXPECT_EQ(root->remove(path).error().code, Errc::InvalidArgument) << path;
    }
    EXPECT_TRUE(fs::is_empty(in("")));
}

TEST_F(ContainerRootTest, DirectoryIsNotReplaced) {
    fs::create_directory(in("/d"));
    EXPECT_FALSE(root->write("/d", "x"));
    EXPECT_FALSE(root->symlink("x", "/d"));
    EXPECT_EQ(std::distance(fs::directory_iterator(in("")), {}), 1) << "no temporary file is left";
}

} // namespace
} // namespace gpuhost::runtime
