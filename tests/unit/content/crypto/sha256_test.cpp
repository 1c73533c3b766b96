// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/sha256.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

constexpr std::string_view of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256Test, KnownInputsHaveTheirKnownDigests) {
    EXPECT_EQ(sha256("abc"), of_abc);
    EXPECT_EQ(sha256(""), of_nothing);
}

TEST(Sha256Test, DigestIsIndependentOfChunkSizes) {
    Sha256 hash;
    hash.update("a");
    hash.update("");
    hash.update("bc");
    EXPECT_EQ(hash.finish(), of_abc);
}

TEST(Sha256Test, ReadsFilesFromStartAndKeepsTheOffset) {
    const tests::TempDir directory;
    directory.write("file", "abc");
    const auto fd = directory.root().open_file("/file", O_RDONLY);
    ASSERT_TRUE(fd);
    ASSERT_EQ(::lseek(fd->get(), 2, SEEK_SET), 2);
    std::uint64_t told = 0;
    const auto digest = sha256_of_file(fd->get(), "file", [&](std::uint64_t n) { told += n; });
    ASSERT_TRUE(digest);
    EXPECT_EQ(digest->sha256, of_abc);
    EXPECT_EQ(digest->size, 3U);
    EXPECT_EQ(told, 3U);
    EXPECT_EQ(::lseek(fd->get(), 0, SEEK_CUR), 2);
}

TEST(Sha256Test, AcceptsOnlyLowerCaseHexAsDigest) {
    EXPECT_TRUE(is_sha256(of_abc));
    EXPECT_FALSE(is_sha256(""));
    EXPECT_FALSE(is_sha256(of_abc.substr(1)));
    EXPECT_FALSE(is_sha256("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    EXPECT_FALSE(is_sha256("../816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

} // namespace
} // namespace gpuhost::content
