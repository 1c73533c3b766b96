// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/archive.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;
using tests::Member;
using tests::Packing;
using tests::tar_of;
using Type = Member::Type;

struct Walked {
    std::vector<ArchiveEntry> entries;
    std::vector<std::string> contents;
};

base::Result<Walked> walk(std::string_view archive, ArchiveFormat format = ArchiveFormat::Tar,
                          const ArchiveLimits& limits = {}) {
    GPUHOST_TRY(reader, ArchiveReader::open(archive, format, "input", limits));
    Walked walked;
    for (;;) {
        GPUHOST_TRY(entry, reader.next());
        if (!entry)
            return walked;
        walked.entries.push_back(*entry);
        GPUHOST_TRY(content, reader.read_all(16U << 20U));
        walked.contents.push_back(std::move(content));
    }
}

/// Expects a refusal as BadContent that names the archive and contains `reason`.
void expect_refused(std::string_view archive, const std::string& reason,
                    ArchiveFormat format = ArchiveFormat::Tar, const ArchiveLimits& limits = {}) {
    const auto walked = walk(archive, format, limits);
    ASSERT_FALSE(walked) << "expected: " << reason;
    EXPECT_EQ(walked.error().code, Errc::BadContent) << walked.error().message;
    EXPECT_EQ(walked.error().message.find("input"), 0U) << walked.error().message;
    EXPECT_NE(walked.error().message.find(reason), std::string::npos) << walked.error().message;
}

TEST(ArchiveTest, ReadsTarOfEveryCompression) {
    for (const Packing packing :
         {Packing::None, Packing::Gzip, Packing::Xz, Packing::Zstd, Packing::Bzip2, Packing::Lz4}) {
        const auto walked = walk(tar_of({{"./", "", Type::Directory, "", 0755},
                                         {"./a/b", "content", Type::File, "", 04755},
                                         {"./a/c", "", Type::Link, "b"},
                                         {"./a/d", "", Type::HardLink, "./a/b"}},
                                        packing));
        ASSERT_TRUE(walked) << walked.error().message;
        ASSERT_EQ(walked->entries.size(), 4U);
        EXPECT_EQ(walked->entries[0].path, "");
        EXPECT_EQ(walked->entries[0].type, ArchiveEntry::Type::Directory);
        EXPECT_EQ(walked->entries[1].path, "a/b");
        EXPECT_EQ(walked->entries[1].mode, 0755U);
        EXPECT_EQ(walked->entries[1].size, 7U);
        EXPECT_EQ(walked->contents[1], "content");
        EXPECT_EQ(walked->entries[2].type, ArchiveEntry::Type::SymbolicLink);
        EXPECT_EQ(walked->entries[2].target, "b");
        EXPECT_EQ(walked->entries[3].type, ArchiveEntry::Type::HardLink);
        EXPECT_EQ(walked->entries[3].target, "a/b");
    }
}

TEST(ArchiveTest, ReadsNestedArchivesAndTheMembersAfterwards) {
    const std::string outer =
        tests::ar_of({{"first", tar_of({{"x", "one"}, {"y", "two"}}, Packing::Xz)}, {"second", "2"}});
    auto reader = ArchiveReader::open(outer, ArchiveFormat::Ar, "outer");
    ASSERT_TRUE(reader);
    ASSERT_TRUE(reader->next());
    {
        auto inner = ArchiveReader::open(*reader, ArchiveFormat::Tar, "inner");
        ASSERT_TRUE(inner);
        const auto entry = inner->next();
        ASSERT_TRUE(entry && *entry);
        EXPECT_EQ((*entry)->path, "x");
        EXPECT_EQ(inner->read_all(100).value(), "one");
    }
    const auto second = reader->next();
    ASSERT_TRUE(second && *second);
    EXPECT_EQ((*second)->path, "second");
    EXPECT_EQ(reader->read_all(100).value(), "2");
    EXPECT_FALSE(reader->next().value());
}

TEST(ArchiveTest, ReadsOneCompressedFile) {
    for (const Packing packing : {Packing::None, Packing::Gzip, Packing::Xz, Packing::Zstd}) {
        const auto walked = walk(tests::packed("content", packing), ArchiveFormat::Raw);
        ASSERT_TRUE(walked) << walked.error().message;
        EXPECT_EQ(walked->contents, std::vector<std::string>{"content"});
    }
}

TEST(ArchiveTest, CopiesAndHashesAMember) {
    const tests::TempDir directory;
    directory.write("in", tar_of({{"x", "abc"}}));
    const auto in = directory.root().open_file("/in", O_RDONLY);
    const auto out = directory.root().open_file("/out", O_WRONLY | O_CREAT, 0600);
    auto reader = ArchiveReader::open(in->get(), ArchiveFormat::Tar, "in");
    ASSERT_TRUE(reader && reader->next());
    const auto written = reader->copy_to(out->get());
    ASSERT_TRUE(written);
    EXPECT_EQ(written->size, 3U);
    EXPECT_EQ(written->sha256, sha256("abc"));
    EXPECT_EQ(directory.read("out"), "abc");
}

TEST(ArchiveTest, RefusesPathsOutsideTheArchive) {
    for (const char* name : {"../etc/passwd", "a/../../b", "/etc/passwd", "a/..", "//etc", "a\nb", "a\x7f"})
        expect_refused(tar_of({{name, "x"}}), "points outside the archive");
}

TEST(ArchiveTest, RefusesHardLinksOutsideTheArchive) {
    expect_refused(tar_of({{"a", "", Type::HardLink, "/etc/passwd"}}), "points outside");
    expect_refused(tar_of({{"a", "", Type::HardLink, "../b"}}), "points outside");
}

TEST(ArchiveTest, RefusesDevicesAndPipes) {
    expect_refused(tar_of({{"null", "", Type::Device}}), "device, socket or pipe");
    expect_refused(tar_of({{"pipe", "", Type::Pipe}}), "device, socket or pipe");
}

TEST(ArchiveTest, RefusesDuplicateMembers) {
    expect_refused(tar_of({{"./a", "1"}, {"b", "2"}, {"a", "3"}}), "'a': occurs twice");
}

TEST(ArchiveTest, RefusesArchivesOverALimit) {
    const std::string two = tar_of({{"a", std::string(600, 'x')}, {"b", std::string(600, 'x')}});
    expect_refused(two, "more than 1 members", ArchiveFormat::Tar, {1, 1000, 10000, 100});
    expect_refused(two, "larger than", ArchiveFormat::Tar, {10, 599, 10000, 100});
    expect_refused(two, "unpacks to more than", ArchiveFormat::Tar, {10, 1000, 1100, 100});
    expect_refused(tar_of({{"directory/name", "x"}}), "longer than 10 bytes", ArchiveFormat::Tar,
                   {10, 1000, 10000, 10});
}

TEST(ArchiveTest, RefusesHugeSizesInMemberHeaders) {
    expect_refused(tests::tar_header("huge", std::uint64_t{7} << 30U), "larger than");
}

TEST(ArchiveTest, RefusesSparseFiles_CVE_2026_15028) {
    const std::string map = "2\n0\n3\n997\n3\n"; // GNU 1.0: the map of data, before the bytes
    const std::string end(1024, '\0');
    std::string old = tests::tar_header("x", 6, 'S');
    old.replace(257, 8, std::string("ustar  \0", 8));
    for (const auto& [at, number] :
         {std::pair(386U, 0U), {398U, 3U}, {410U, 997U}, {422U, 3U}, {483U, 1000U}})
        std::snprintf(old.data() + at, 12, "%011o", number);
    const std::string rows[] = {
        tests::pax_records(
            {"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=x", "GNU.sparse.realsize=1000"}) +
            tests::raw_member(tests::tar_header("x", 512 + 6),
                              map + std::string(512 - map.size(), '\0') + "abcdef"),
        tests::pax_records({"GNU.sparse.size=1000", "GNU.sparse.numblocks=2", "GNU.sparse.map=0,3,997,3"}) +
            tests::raw_member(tests::tar_header("x", 6), "abcdef"),
        tests::pax_records({"GNU.sparse.size=1000", "GNU.sparse.numblocks=2", "GNU.sparse.offset=0",
                            "GNU.sparse.numbytes=3", "GNU.sparse.offset=997", "GNU.sparse.numbytes=3"}) +
            tests::raw_member(tests::tar_header("x", 6), "abcdef"),
        tests::raw_member(tests::summed(old), "abcdef"),
    };
    for (const std::string& tar : rows) {
        const auto walked = walk(tar + end);
        ASSERT_FALSE(walked) << tar.substr(512, 100);
        EXPECT_EQ(walked.error().code, Errc::Unsupported) << walked.error().message;
        EXPECT_EQ(walked.error().message, "input: 'x': is a sparse file");
    }
    // A libarchive without support for Solaris' holes uses the size in the header.
    const auto holes = walk(tests::pax_records({"SUN.holesdata= 0 3 1000"}) +
                            tests::raw_member(tests::tar_header("x", 3), "abc") + end);
    EXPECT_TRUE(holes ? holes->contents == std::vector<std::string>{"abc"}
                      : holes.error().code == Errc::Unsupported);
}

TEST(ArchiveTest, StopsADecompressionBomb) {
    const std::string bomb = tests::packed(std::string(std::size_t{8} << 20U, '\0'), Packing::Xz);
    ASSERT_LT(bomb.size(), std::size_t{10} << 10U);
    expect_refused(bomb, "unpacks to more", ArchiveFormat::Raw,
                   {1, std::uint64_t{1} << 20U, std::uint64_t{1} << 20U, 100});
    const std::string skipped = tar_of({{"zeros", std::string(std::size_t{8} << 20U, '\0')}}, Packing::Xz);
    expect_refused(skipped, "unpacks to more", ArchiveFormat::Tar,
                   {10, std::uint64_t{16} << 20U, std::uint64_t{1} << 20U, 100});
}

TEST(ArchiveTest, RefusesTooHighCompressionRatios) {
    ArchiveLimits limits;
    limits.ratio = 100;
    limits.unrated_bytes = 1U << 20U;
    const std::string zeros(std::size_t{8} << 20U, '\0');
    expect_refused(tests::packed(zeros, Packing::Xz), "much more than its own size", ArchiveFormat::Raw,
                   limits);
    expect_refused(tar_of({{"skipped", zeros}, {"next", "x"}}, Packing::Xz), "much more than its own size",
                   ArchiveFormat::Tar, limits);
    const std::string little(std::size_t{1} << 19U, '\0');
    EXPECT_TRUE(walk(tests::packed(little, Packing::Xz), ArchiveFormat::Raw, limits))
        << "below unrated_bytes";
    const std::string tar = tar_of({{"zeros", zeros}});
    auto plain = ArchiveReader::open(tar, ArchiveFormat::Tar, "input", limits);
    ASSERT_TRUE(plain && plain->next());
    EXPECT_TRUE(plain->digest()) << "not compressed";
}

TEST(ArchiveTest, RefusesFramesWithAHugeWindow) {
    // A zstd frame with a window of 2 GiB and one empty last block.
    expect_refused(std::string("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9), "too much memory",
                   ArchiveFormat::Raw);
}

TEST(ArchiveTest, ReadsAnArchiveInsideAFile) {
    const tests::TempDir directory;
    const std::string archive = tar_of({{"x", "abc"}}, Packing::Gzip);
    directory.write("in", "before" + archive + "behind");
    const auto in = directory.root().open_file("/in", O_RDONLY);
    auto reader = ArchiveReader::open(FilePart{in->get(), 6, archive.size()}, ArchiveFormat::Tar, "in");
    ASSERT_TRUE(reader && reader->next());
    const auto digest = reader->digest();
    ASSERT_TRUE(digest);
    EXPECT_EQ(digest->sha256, sha256("abc"));
    const auto end = reader->next();
    EXPECT_TRUE(end && !*end);
}

TEST(ArchiveTest, RefusesFilesThatAreNotArchives) {
    expect_refused("this is no archive at all", "", ArchiveFormat::Ar);
    expect_refused(std::string(2000, 'x'), "", ArchiveFormat::Tar);
    expect_refused("", "", ArchiveFormat::Ar);
}

TEST(ArchiveTest, TruncatedArchiveFailsOrListsFewerMembers) {
    std::string random;
    for (unsigned i = 0; i < 20'000; ++i)
        random += static_cast<char>((i * 2654435761U) >> 13U);
    const std::string whole = tar_of({{"a", random}, {"b", "end"}}, Packing::Xz);
    for (std::size_t size = 0; size < whole.size(); size += 97) {
        const auto walked = walk(std::string_view(whole).substr(0, size));
        EXPECT_FALSE(walked) << "a compressed archive cut at " << size << " of " << whole.size()
                             << " was read as complete";
    }
}

TEST(ArchiveTest, MemberOverTheCallersLimitIsRefused) {
    const std::string archive = tar_of({{"a", "0123456789"}});
    auto reader = ArchiveReader::open(archive, ArchiveFormat::Tar, "input");
    ASSERT_TRUE(reader && reader->next());
    const auto content = reader->read_all(9);
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code, Errc::BadContent);
}

TEST(ArchiveTest, ReadsRegularFilesOnly) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const auto reader = ArchiveReader::open(ends[0], ArchiveFormat::Tar, "input");
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, Errc::InvalidArgument);
}

} // namespace
} // namespace gpuhost::content
