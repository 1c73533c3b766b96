// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/search_path.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using Words = std::vector<std::string>;

TEST(LdConf, ParsesFoldersAndIncludesAsLdconfig) {
    const LdConf conf =
        parse_ld_conf("# a comment\n\n /opt/lib \t# the site's\ninclude a.conf\t/etc/b/*.conf\n"
                      "hwcap 0 nosegneg\ninclude\n/opt/with blank\n/last");
    EXPECT_EQ(conf.folders, (Words{"/opt/lib", "/opt/with blank", "/last"}));
    EXPECT_EQ(conf.includes, (Words{"a.conf", "/etc/b/*.conf"}));
}

TEST(MuslPath, MissingFoldersAreAppended) {
    EXPECT_EQ(with_musl_folders("/lib:/usr/lib\n", {"/gpu", "/lib"}), "/lib:/usr/lib\n/gpu\n");
    EXPECT_EQ(with_musl_folders("/lib\n/gpu", {"/gpu", "/b"}), "/lib\n/gpu\n/b\n");
    EXPECT_EQ(with_musl_folders("/lib\n", {}), "/lib\n");
}

class SearchPath : public testing::Test {
  protected:
    [[nodiscard]] base::Result<void> write(const Words& folders) const {
        return write_search_path(*ContainerRoot::open(dir.path()), folders);
    }
    [[nodiscard]] std::string folders() const { return dir.read(folders_conf.substr(1)); }
    [[nodiscard]] std::string system() const { return dir.read(system_conf.substr(1)); }

    tests::TempDir dir;
};

TEST_F(SearchPath, EmptyImageGetsAllFiles) {
    ASSERT_TRUE(write({"/b", "/a", "/b"}));
    EXPECT_EQ(dir.read("etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n");
    EXPECT_EQ(folders(), "/b\n/a\n");
    EXPECT_EQ(system(), "/lib64\n/usr/lib64\n/lib\n/usr/lib\n");
}

TEST_F(SearchPath, SystemFoldersFollowTheImagesDistribution) {
    dir.write("etc/debian_version", "12\n");
    ASSERT_TRUE(write({"/usr/lib"}));
    EXPECT_NE(system().find("-linux-gnu\n/lib\n"), std::string::npos);
    EXPECT_EQ(folders(), "") << "the image searches that folder already";
}

TEST_F(SearchPath, UnneededFoldersAreRemoved) {
    ASSERT_TRUE(write({"/a"}));
    ASSERT_TRUE(write({"/b"}));
    EXPECT_EQ(folders(), "/b\n");
    ASSERT_TRUE(write({}));
    EXPECT_FALSE(dir.root().exists(folders_conf));
}

TEST_F(SearchPath, FollowsIncludesOfIncludes) {
    dir.write("etc/ld.so.conf", "include more/first.conf\ninclude ld.so.conf.d/*.conf\n");
    dir.write("etc/more/first.conf", "include second.conf\n");
    dir.write("etc/more/second.conf", "/a\ninclude first.conf\n");
    dir.write("etc/ld.so.conf.d/.hidden.conf", "/b\n");
    ASSERT_TRUE(write({"/a", "/b"}));
    EXPECT_EQ(folders(), "/b\n");
    EXPECT_EQ(dir.read("etc/ld.so.conf"), "include more/first.conf\ninclude ld.so.conf.d/*.conf\n");
}

TEST_F(SearchPath, MissingIncludeIsAddedOnce) {
    dir.write("etc/ld.so.conf", "include /etc/ld.so.conf.d/0*.conf\n/opt");
    ASSERT_TRUE(write({"/a"}));
    const std::string once =
        "include /etc/ld.so.conf.d/0*.conf\n/opt\ninclude " + std::string(system_conf) + "\n";
    EXPECT_EQ(dir.read("etc/ld.so.conf"), once);
    ASSERT_TRUE(write({"/a"}));
    EXPECT_EQ(dir.read("etc/ld.so.conf"), once);
}

TEST_F(SearchPath, AmbiguousFoldersAreRefused) {
    for (const char* folder : {"", "relative", "/a\n/b", "/a:/b", "/a b", "/a#b"})
        EXPECT_EQ(write({"/a", folder}).error().code, Errc::InvalidArgument) << folder;
    EXPECT_FALSE(dir.root().exists("/etc"));
}

} // namespace
} // namespace gpuhost::runtime
