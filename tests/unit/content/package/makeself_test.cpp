// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/makeself.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace {
bool md5_is_refused = false; // as in FIPS mode
}

extern "C" {
const EVP_MD* __real_EVP_md5();
const EVP_MD* __wrap_EVP_md5();
}

const EVP_MD* __wrap_EVP_md5() {
    return md5_is_refused ? nullptr : __real_EVP_md5();
}

namespace gpuhost::content {
namespace {

using base::Errc;

const std::string label = "NVIDIA Accelerated Graphics Driver for Linux-x86_64 550.163.01";
const std::string payload = "123456789"; // its check sums are published
const std::string md5 = "25f9e794323b453885f5181f1b624d0b";
const std::string sha256 = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225";
const std::string crc = "930766865";

struct Own {
    std::string crcsum = crc;
    std::string md5sum = md5;
    std::string sha = sha256;
    std::string sizes = "9";
    std::string skip = "9";
    std::string more{};
};

std::string own(const Own& with = {}) {
    return "#!/bin/sh\nCRCsum=\"" + with.crcsum + "\"\nMD5=\"" + with.md5sum + "\"\nSHA=\"" + with.sha +
           "\"\nlabel=\"" + label + "\"\nfilesizes=\"" + with.sizes + "\"\nskip=\"" + with.skip + "\"\n" +
           with.more + "echo \"$label\"\nexit 0\n";
}

/// Returns NVIDIA's header; the sums cover everything after line 3.
std::string nvidias(const std::string& sums, const std::string& skip = "8") {
    return "#! /bin/sh\n" + sums + "skip=" + skip + "\nlabel=\"" + label +
           "\"\nversion_string=550.163.01\nscript=./nvidia-installer\n";
}

void expect_bad(const std::string& start, Errc code, const std::string& text, std::uint64_t behind = 9) {
    const auto found = parse_makeself_header(start, start.size() + behind, "x.run");
    ASSERT_FALSE(found) << "expected: " << text;
    EXPECT_EQ(found.error().code, code) << found.error().message;
    EXPECT_NE(found.error().message.find(text), std::string::npos) << found.error().message;
}

base::Result<void> check(const std::string& file) {
    const tests::TempDir directory;
    directory.write("x.run", file);
    const auto fd = directory.root().open_file("/x.run", O_RDONLY);
    GPUHOST_TRY(header, read_makeself_header(fd->get(), "x.run"));
    return check_makeself_sums(fd->get(), header, "x.run");
}

TEST(MakeselfTest, FindsTheArchiveBelowMakeselfsHeader) {
    const std::string start = own();
    const auto found = parse_makeself_header(start + payload, start.size() + 9, "x.run");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->label, label);
    EXPECT_EQ(found->offset, start.size());
    EXPECT_EQ(found->size, 9U);
    EXPECT_EQ(found->summed, start.size());
}

TEST(MakeselfTest, FindsTheArchiveBelowNvidiasHeader) {
    const std::string sums = "CRCsum=1\nMD5=00000000000000000000000000000000\n";
    const std::string start = nvidias(sums);
    const auto found = parse_makeself_header(start + payload, start.size() + 9, "x.run");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->offset, start.size());
    EXPECT_EQ(found->size, 9U);
    EXPECT_EQ(found->summed, std::string("#! /bin/sh\n").size() + sums.size());
    EXPECT_EQ(found->crc, "1");
    EXPECT_EQ(found->md5, "");
}

TEST(MakeselfTest, RefusesHeadersThatMismatchTheFile) {
    expect_bad("#!/bin/bash\n", Errc::BadContent, "does not begin like");
    expect_bad("#!/bin/sh\necho\n", Errc::Unsupported, "where its archive begins");
    expect_bad(own(), Errc::BadContent, "sizes do not match the file", 8);
    expect_bad(own(), Errc::BadContent, "sizes do not match the file", 10);
    expect_bad(own({.sizes = "4 5"}), Errc::Unsupported, "several parts");
    expect_bad(own({.skip = "900"}), Errc::BadContent, "sizes do not match");
    expect_bad(own({.skip = "0"}), Errc::BadContent, "no valid line number");
    expect_bad(own({.skip = "-1"}), Errc::BadContent, "no valid line number");
    expect_bad(own({.skip = "18446744073709551616"}), Errc::BadContent, "no valid line number");
    expect_bad(own({.skip = "`id`"}), Errc::BadContent, "sets skip twice or to an unreadable value");
    expect_bad(own({.skip = "$X"}), Errc::BadContent, "sets skip twice or to an unreadable value");
    expect_bad(own({.more = "skip=3\n"}), Errc::BadContent, "sets skip twice");
    expect_bad(own({.more = "decrypt_cmd=\"gpg -d\"\n"}), Errc::Unsupported, "encrypted");
    expect_bad(own({.md5sum = std::string(33, 'a')}), Errc::BadContent, "an invalid sum: MD5");
    expect_bad(own({.crcsum = "12x"}), Errc::BadContent, "an invalid sum: CRCsum");
    expect_bad(nvidias("MD5=1\nCRCsum=1\n"), Errc::BadContent, "lines 2 and 3");
    expect_bad(nvidias("CRCsum=1\nMD5=1\n", "9"), Errc::BadContent, "after the file's end");
    expect_bad(nvidias("CRCsum=1\nMD5=1\n", "2"), Errc::BadContent, "inside the header");
    expect_bad(nvidias("CRCsum=1\nMD5=1\n"), Errc::BadContent, "after the file's end", 0);
}

TEST(MakeselfTest, RefusesHeadersOverTheLimit) {
    std::string start = own({.skip = "100000000"});
    start.append(makeself_header_limit, '\n');
    expect_bad(start, Errc::BadContent, "sizes do not match");
}

TEST(MakeselfTest, RefusesEveryPrefix) {
    const std::string whole = own() + payload;
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(check(whole.substr(0, size))) << size;
}

TEST(MakeselfTest, ComparesEachSum) {
    EXPECT_TRUE(check(own() + payload));
    EXPECT_TRUE(check(own({.crcsum = "0000000000"}) + payload));
    const std::string no_sha(64, '0');
    for (const auto& [wrong, kind] :
         {std::pair{Own{.crcsum = "930766866"}, "CRC"},
          {Own{.crcsum = "0000000000", .md5sum = "35f9e794323b453885f5181f1b624d0b", .sha = no_sha}, "MD5"},
          {Own{.sha = "25e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"}, "SHA-256"}}) {
        const auto checked = check(own(wrong) + payload);
        ASSERT_FALSE(checked) << kind;
        EXPECT_EQ(checked.error().code, Errc::BadContent);
        EXPECT_NE(checked.error().message.find(std::string("x.run: ") + kind + " mismatch"),
                  std::string::npos)
            << checked.error().message;
    }
    EXPECT_FALSE(check(own() + "123456780")) << "a changed payload";
}

TEST(MakeselfTest, WithoutMd5TheOtherSumsAreChecked) {
    const std::string no_crc = "0000000000";
    const std::string no_sha(64, '0');
    md5_is_refused = true;
    EXPECT_TRUE(check(own({.md5sum = "35f9e794323b453885f5181f1b624d0b"}) + payload));
    EXPECT_TRUE(check(own({.crcsum = no_crc}) + payload)) << "SHA-256 alone";
    EXPECT_FALSE(check(own({.sha = no_sha}) + "123456780")) << "the CRC is compared";
    EXPECT_FALSE(check(own({.crcsum = no_crc}) + "123456780")) << "SHA-256 is compared";
    const auto checked = check(own({.crcsum = no_crc, .sha = no_sha}) + payload);
    md5_is_refused = false;
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::Unsupported);
    EXPECT_TRUE(check(own({.crcsum = no_crc, .sha = no_sha}) + payload))
        << "MD5 alone, where OpenSSL allows it";
}

} // namespace
} // namespace gpuhost::content
