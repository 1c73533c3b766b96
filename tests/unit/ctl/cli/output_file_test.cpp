// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

using Names = std::vector<std::string>;

class OutputFileTest : public ::testing::Test {
  protected:
    [[nodiscard]] Names names() const { return directory_.root().list("/").value(); }
    [[nodiscard]] base::Result<OutputFile> begun(const std::string& content,
                                                 Existing existing = Existing::Replace) const {
        GPUHOST_TRY(file, OutputFile::create(directory_.path("out"), 0644, existing));
        GPUHOST_CHECK(base::write_all(file.fd(), content, "out"));
        return std::move(file);
    }
    tests::TempDir directory_;
};

TEST_F(OutputFileTest, FileGetsItsNameWhenFinished) {
    directory_.write("out", "old");
    auto file = begun("new");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(directory_.read("out"), "old");
    ASSERT_TRUE(file->finish());
    EXPECT_EQ(directory_.read("out"), "new");
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputFileTest, UnfinishedFileIsRemoved) {
    {
        const auto file = begun("half");
        ASSERT_TRUE(file) << file.error().message;
    }
    EXPECT_EQ(names(), Names{});
}

TEST_F(OutputFileTest, OtherFilesAreKept) {
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

TEST_F(OutputFileTest, ExistingTemporaryNamesDoNotBlock) {
    directory_.write("out.part", "");
    for (unsigned i = 0; i < 200; ++i)
        directory_.write("out.part" + std::to_string(i), "");
    auto file = begun("new");
    ASSERT_TRUE(file && file->finish());
    EXPECT_EQ(directory_.read("out"), "new");
    EXPECT_EQ(names().size(), 202U);
}

TEST_F(OutputFileTest, FileCreatedMeanwhileIsKept) {
    {
        auto file = begun("new", Existing::Keep);
        ASSERT_TRUE(file);
        directory_.write("out", "somebody's");
        const auto finished = file->finish();
        ASSERT_FALSE(finished);
        EXPECT_EQ(finished.error().code, base::Errc::AlreadyExists);
    }
    EXPECT_EQ(directory_.read("out"), "somebody's");
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputFileTest, DanglingLinkIsKept) {
    ASSERT_EQ(::symlink("nowhere", directory_.path("out").c_str()), 0);
    auto file = begun("new", Existing::Keep);
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->finish());
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputFileTest, KeepModeCreatesAMissingFile) {
    auto file = begun("new", Existing::Keep);
    ASSERT_TRUE(file && file->finish());
    EXPECT_EQ(directory_.read("out"), "new");
    EXPECT_EQ(names(), Names{"out"});
}

TEST_F(OutputFileTest, FileIsWorldReadableBelowTheUmask) {
    auto file = begun("new");
    ASSERT_TRUE(file && file->finish());
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(directory_.root().stat("/out")->st_mode & 0777U, 0644U & ~mask);
}

TEST_F(OutputFileTest, WriteErrorsNameTheFile) {
    const auto file = OutputFile::create(directory_.path("none/out"));
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("none/out"), std::string::npos);
    directory_.write("out/kept", "");
    auto over = begun("new");
    ASSERT_TRUE(over);
    EXPECT_FALSE(over->finish()) << "the name is that of a directory";
}

} // namespace
} // namespace gpuhost::ctl
