// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/device_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost {
namespace {

constexpr const char* own_directory = "/run/gpuhost-devices";

class DeviceFilesTest : public testing::Test {
  protected:
    DeviceFilesTest() { host_.write("/run/other", ""); }

    void answer(const std::string& text) const { host_.write(std::string(devices::answer_path), text); }

    tests::TempDir host_;
    base::Root root_ = host_.root();
};

TEST_F(DeviceFilesTest, NewDirectoryOfTheAnswerIsAChange) {
    DeviceFiles files(root_);
    host_.write("/run/another", "");
    EXPECT_FALSE(files.changed()) << "files of other programs";
    for (int restart = 0; restart < 2; ++restart) {
        answer(R"({"id": "7", "resources": []})");
        EXPECT_TRUE(files.changed()) << restart;
        files.refresh();
        ASSERT_TRUE(files.facts().answer) << restart;
        std::filesystem::remove_all(host_.path(own_directory));
        EXPECT_TRUE(files.changed()) << restart;
        files.refresh();
        EXPECT_FALSE(files.facts().answer) << restart;
        EXPECT_EQ(files.facts().answer_error, "") << "gpuhost-devices does not run";
    }
}

TEST_F(DeviceFilesTest, InvalidAnswerIsNamed) {
    answer("{");
    DeviceFiles files(root_);
    EXPECT_FALSE(files.facts().answer);
    EXPECT_NE(files.facts().answer_error, "");
    answer(R"({"id": "7", "resources": []})");
    files.refresh();
    EXPECT_EQ(files.facts().answer_error, "");
}

} // namespace
} // namespace gpuhost
