// SPDX-License-Identifier: Apache-2.0
// Only bytes that were read or written are dropped from the page cache. For posix_fadvise(2) and
// sync_file_range(2), a length of 0 means up to the end of the file.
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/input.hpp"
#include "images/store/blob_store.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

struct Range {
    off_t at;
    off_t length;
};
std::vector<Range> ranges; // NOLINT: ranges passed to the seams below
std::mutex of_ranges;      // NOLINT: other tests of this program have threads
std::atomic<int> refusal;  // NOLINT: the errno of each sync_file_range(2); 0: the real call

void note(off_t at, off_t length) {
    const std::lock_guard lock(of_ranges);
    ranges.push_back({at, length});
}

} // namespace

extern "C" {
int __real_posix_fadvise(int fd, off_t at, off_t length, int advice);
int __wrap_posix_fadvise(int fd, off_t at, off_t length, int advice) {
    note(at, length);
    return __real_posix_fadvise(fd, at, length, advice);
}
int __real_sync_file_range(int fd, off_t at, off_t length, unsigned flags);
int __wrap_sync_file_range(int fd, off_t at, off_t length, unsigned flags) {
    note(at, length);
    if (refusal != 0) {
        errno = refusal;
        return -1;
    }
    return __real_sync_file_range(fd, at, length, flags);
}
}

namespace gpuhost::images {
namespace {

constexpr std::size_t mebibyte = 1U << 20U;

class PageCache : public ::testing::Test {
  protected:
    PageCache() { ranges.clear(); }

    /// Expects at least one call, and only calls with a length.
    static void expect_within(std::size_t done) {
        EXPECT_FALSE(ranges.empty());
        for (const Range& range : ranges) {
            EXPECT_GT(range.length, 0) << "at " << range.at;
            EXPECT_LE(static_cast<std::size_t>(range.at + range.length), done);
        }
    }

    tests::TempDir tmp_;
};

TEST_F(PageCache, UnreadPartOfABundleStaysCached) {
    const std::string path = tmp_.path("bundle");
    const base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(fd.get(), 64 * mebibyte), 0);
    auto input = BundleInput::open({{fd.get(), "bundle"}});
    ASSERT_TRUE(input);
    std::vector<char> block(mebibyte);
    for (std::size_t read = 1; read <= 16; ++read) {
        ASSERT_TRUE(input->read(block));
        if (read % 8 == 0)
            expect_within(read * mebibyte);
    }
    input->forget_read();
    expect_within(16 * mebibyte);
    ASSERT_TRUE(input->skip(16 * mebibyte));
    expect_within(16 * mebibyte);
    ASSERT_TRUE(input->read(block));
    input->forget_read();
    EXPECT_EQ(ranges.back().at, static_cast<off_t>(32 * mebibyte)) << "skipped bytes may be read by others";
    expect_within(33 * mebibyte);
}

TEST_F(PageCache, UnwrittenPartOfABlobStaysCached) {
    const base::Root root = tmp_.root();
    const auto incoming = Incoming::open(root, "import");
    ASSERT_TRUE(incoming);
    const std::string block(mebibyte, 'x');
    std::string all;
    for (int i = 0; i < 40; ++i)
        all += block;
    auto writer = incoming->write(content::sha256(all), all.size());
    ASSERT_TRUE(writer);
    for (std::size_t written = 1; written <= 40; ++written) {
        ASSERT_TRUE(writer->write(block));
        if (written % 8 == 0)
            expect_within(written * mebibyte);
    }
    EXPECT_TRUE(writer->finish());
    expect_within(all.size());
}

class SyncFileRange : public ::testing::Test {
  protected:
    ~SyncFileRange() override { refusal = 0; }
    /// Writes a blob of 8 MiB, which is written back once.
    [[nodiscard]] base::Result<void> write_with(int error) {
        const std::string block(8 * mebibyte, 'x');
        hex_ = content::sha256(block);
        GPUHOST_TRY(incoming, Incoming::open(root_, "import"));
        GPUHOST_TRY(writer, incoming.write(hex_, block.size()));
        refusal = error;
        return writer.write(block);
    }
    [[nodiscard]] bool is_kept() const {
        return root_.exists(std::string(incoming_directory) + "/import/" + hex_);
    }

  private:
    tests::TempDir tmp_;
    base::Root root_ = tmp_.root();
    std::string hex_;
};

/// A block device has its own error numbers: ENOLINK for a lost path, ENODATA for a bad sector.
TEST_F(SyncFileRange, DiskErrorUnlinksTheBlob) {
    for (const int error : {EIO, ENOSPC, ENOLINK, ETIMEDOUT, ENODATA, EREMOTEIO, EILSEQ, ENODEV, ESTALE}) {
        EXPECT_FALSE(write_with(error)) << error;
        EXPECT_FALSE(is_kept()) << error;
    }
}

TEST_F(SyncFileRange, UnsupportedCallKeepsTheBlob) {
    for (const int error : {ENOSYS, EOPNOTSUPP, ESPIPE}) {
        EXPECT_TRUE(write_with(error)) << error;
        EXPECT_TRUE(is_kept()) << error;
    }
}

} // namespace
} // namespace gpuhost::images
