// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/archive.hpp"
#include "daemon/content/archive/tar_writer.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::content {
namespace {

class TarWriterTest : public testing::Test {
  protected:
    base::Result<FileDigest> write(const std::string& name) {
        fd_ = std::move(*directory_.root().open_file("/" + name, O_RDWR | O_CREAT | O_EXCL, 0600));
        GPUHOST_TRY(tar, TarWriter::create(fd_.get(), name));
        GPUHOST_CHECK(tar.begin("usr/src/nvidia-1.2/conftest.sh", true, 3));
        GPUHOST_CHECK(tar.write("a"));
        GPUHOST_CHECK(tar.write("bc"));
        GPUHOST_CHECK(tar.begin("usr/src/nvidia-1.2/empty", false, 0));
        GPUHOST_CHECK(tar.add_link("usr/src/nvidia-1.2/link", "empty"));
        return tar.finish();
    }
    tests::TempDir directory_;
    base::UniqueFd fd_;
};

TEST_F(TarWriterTest, WrittenTarIsReadBack) {
    const auto written = write("a");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(sha256(directory_.read("a")), written->sha256);
    EXPECT_EQ(directory_.read("a").size(), written->size);
    auto reader = ArchiveReader::open(fd_.get(), ArchiveFormat::Tar, "a");
    ASSERT_TRUE(reader);
    const auto script = reader->next();
    ASSERT_TRUE(script && *script);
    EXPECT_EQ((*script)->path, "usr/src/nvidia-1.2/conftest.sh");
    EXPECT_EQ((*script)->mode, 0755U);
    EXPECT_EQ(reader->read_all(10), "abc");
    EXPECT_EQ((*reader->next())->size, 0U);
    EXPECT_EQ((*reader->next())->target, "empty");
    EXPECT_FALSE(reader->next()->has_value());
}

TEST_F(TarWriterTest, SameInputGivesTheSameBytes) {
    const auto first = write("a");
    const auto second = write("b");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->sha256, second->sha256);
}

TEST_F(TarWriterTest, WritesTheGivenForm) {
    const auto written = [this](const std::string& name, const TarForm& form) {
        fd_ = std::move(*directory_.root().open_file("/" + name, O_RDWR | O_CREAT | O_EXCL, 0600));
        auto tar = TarWriter::create(fd_.get(), name, form);
        EXPECT_TRUE(tar && tar->begin("z", false, 4) && tar->write("text") && tar->begin("a", true, 0) &&
                    tar->finish());
        return directory_.read(name);
    };
    const TarForm form{TarForm::Packing::Gzip, 1'700'000'000, 0600};
    const std::string packed = written("x.tar.gz", form);
    EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
    EXPECT_EQ(packed, written("again", form));
    EXPECT_NE(packed, written("later", {TarForm::Packing::Gzip, 1'700'000'001, 0600}));
    EXPECT_LT(packed.size(), 512U) << "not padded to a tape block";
    const auto file = directory_.root().open_file("/x.tar.gz", O_RDONLY);
    auto reader = ArchiveReader::open(file->get(), ArchiveFormat::Tar, "x.tar.gz");
    ASSERT_TRUE(reader);
    const auto first = reader->next();
    ASSERT_TRUE(first && *first);
    EXPECT_EQ((*first)->path, "z");
    EXPECT_EQ((*first)->mode, 0600U);
    EXPECT_EQ((*reader->next())->mode, 0700U);
}

TEST_F(TarWriterTest, DestroyedWriterWritesNothing) {
    fd_ = std::move(*directory_.root().open_file("/a", O_RDWR | O_CREAT | O_EXCL, 0600));
    {
        auto tar = TarWriter::create(fd_.get(), "a", {TarForm::Packing::Gzip, 0, 0600});
        ASSERT_TRUE(tar && tar->begin("x", false, 1'000'000) && tar->write("the first of them"));
    }
    EXPECT_EQ(directory_.read("a"), "") << "the first block was not full";
}

TEST_F(TarWriterTest, WriteErrorsAreReported) {
    auto tar = TarWriter::create(fd_.get(), "closed"); // no descriptor
    ASSERT_TRUE(tar);
    EXPECT_TRUE(tar->begin("x", false, 1));
    EXPECT_TRUE(tar->write("x"));
    EXPECT_FALSE(tar->write("y")) << "more than the announced size";
    EXPECT_FALSE(tar->finish());
}

} // namespace
} // namespace gpuhost::content
