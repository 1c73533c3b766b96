// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"
#include "daemon/ctl/output_file.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Names = std::vector<std::string>;

class OutputFileTest : public ::testing::Test {
  protected:
    [[nodiscard]] Names names() const { return directory_.root().list("/").value(); }
    [[nodiscard]] base::Result<OutputFile> begun(const std::string& content) const {
        GPUHOST_TRY(file, OutputFile::create(directory_.path("out")));
        GPUHOST_CHECK(base::write_all(file.fd(), content, "out"));
        return std::move(file);
    }
    tests::TempDir directory_;
};

TEST_F(OutputFileTest, HasItsNameWhenItIsWhole) {
    directory_.write("out", "old");
    auto file = begun("new");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(directory_.read("out"), "old");
    ASSERT_TRUE(file->finish());
    EXPECT_EQ(directory_.read("out"), "new");
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputFileTest, LeavesNothingOfWhatIsNotFinished) {
    {
        const auto file = begun("half");
        ASSERT_TRUE(file) << file.error().message;
    }
    EXPECT_EQ(names(), Names{});
}

TEST_F(OutputFileTest, LeavesOthersFilesAlone) {
    directory_.write("out.part", "somebody's");
    {
        const auto file = begun("half");
        ASSERT_TRUE(file) << file.error().message;
    }
    auto file = begun("new");
    ASSERT_TRUE(file && file->finish());
    EXPECT_EQ(names(), (Names{"out", "out.part"}));
    EXPECT_EQ(directory_.read("out.part"), "somebody's");
}

TEST_F(OutputFileTest, IsForAllToRead) {
    auto file = begun("new");
    ASSERT_TRUE(file && file->finish());
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(directory_.root().stat("/out")->st_mode & 0777U, 0644U & ~mask);
}

TEST_F(OutputFileTest, NamesWhatItCannotWrite) {
    const auto file = OutputFile::create(directory_.path("none/out"));
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("none/out"), std::string::npos);
    directory_.write("out/kept", "");
    auto over = begun("new");
    ASSERT_TRUE(over);
    EXPECT_FALSE(over->finish()) << "a directory has the name";
}

} // namespace
} // namespace gpuhost::ctl
