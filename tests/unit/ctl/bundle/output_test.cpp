// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/output.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Names = std::vector<std::string>;
constexpr std::uint64_t volume = 4096;

class BundleFilesTest : public ::testing::Test {
  protected:
    [[nodiscard]] Names names() const { return directory_.root().list("/").value(); }
    [[nodiscard]] BundleFiles files(std::uint64_t volume_size) const {
        return {directory_.path("out"), volume_size};
    }
    tests::TempDir directory_;
};

TEST_F(BundleFilesTest, SplitsBundleIntoVolumes) {
    BundleFiles out = files(volume);
    const std::string bytes = std::string(volume, 'a') + std::string(volume, 'b') + "c";
    ASSERT_TRUE(out.begin(bytes.size()));
    ASSERT_TRUE(out.write(bytes.substr(0, 10)));
    ASSERT_TRUE(out.write(bytes.substr(10)));
    EXPECT_EQ(names(), Names{}) << "no file before finish()";
    ASSERT_TRUE(out.finish());
    EXPECT_EQ(names(), (Names{"out.001", "out.002", "out.003"}));
    EXPECT_EQ(directory_.read("out.001") + directory_.read("out.002") + directory_.read("out.003"), bytes);
    EXPECT_EQ(directory_.read("out.002"), std::string(volume, 'b'));
    EXPECT_EQ(out.names().size(), 3U);
}

TEST_F(BundleFilesTest, FullVolumeHasNoEmptySuccessor) {
    BundleFiles out = files(volume);
    ASSERT_TRUE(out.begin(volume));
    ASSERT_TRUE(out.write(std::string(volume, 'a')));
    ASSERT_TRUE(out.finish());
    EXPECT_EQ(names(), Names{"out.001"});
}

TEST_F(BundleFilesTest, WithoutVolumeSizeWritesOneFile) {
    BundleFiles out = files(0);
    ASSERT_TRUE(out.begin(std::uint64_t{1} << 50U));
    ASSERT_TRUE(out.write("all"));
    ASSERT_TRUE(out.finish());
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(BundleFilesTest, RemovesVolumesOfAPreviousLargerBundle) {
    for (const char* name : {"out.001", "out.002", "out.016", "out.017", "out", "out.2"})
        directory_.write(name, "old");
    BundleFiles out = files(volume);
    ASSERT_TRUE(out.begin(1));
    ASSERT_TRUE(out.write("x"));
    ASSERT_TRUE(out.finish());
    EXPECT_EQ(names(), (Names{"out", "out.001", "out.017", "out.2"}));
    EXPECT_EQ(directory_.read("out.001"), "x");
}

TEST_F(BundleFilesTest, RefusesTooManyVolumesWithASizeHint) {
    constexpr std::uint64_t mebibyte = 1U << 20U;
    EXPECT_TRUE(files(mebibyte).begin(16 * mebibyte));
    const auto refused = files(mebibyte).begin(16 * mebibyte + 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::Errc::InvalidArgument);
    EXPECT_NE(refused.error().message.find("17 volumes; an import accepts 16"), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().hint.find("--volume-size 2M"), std::string::npos) << refused.error().hint;
    EXPECT_EQ(names(), Names{});
}

TEST_F(BundleFilesTest, UnfinishedBundleLeavesNoFiles) {
    {
        BundleFiles out = files(volume);
        ASSERT_TRUE(out.begin(2 * volume));
        ASSERT_TRUE(out.write(std::string(volume + 1, 'a')));
    }
    EXPECT_EQ(names(), Names{});
}

TEST_F(BundleFilesTest, FailedRenameLeavesNoVolumes) {
    directory_.write("out.002/file", "in the way");
    {
        BundleFiles out = files(volume);
        ASSERT_TRUE(out.begin(3 * volume));
        ASSERT_TRUE(out.write(std::string(3 * volume, 'a')));
        EXPECT_FALSE(out.finish());
    }
    EXPECT_EQ(names(), Names{"out.002"});
}

} // namespace
} // namespace gpuhost::ctl
