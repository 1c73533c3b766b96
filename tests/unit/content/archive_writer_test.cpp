// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/root.hpp"
#include "daemon/content/archive.hpp"
#include "daemon/content/archive_writer.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

TEST(ArchiveWriter, TheSameMembersMakeTheSameBytesInTheirOrder) {
    const std::vector<TextMember> members{{"report/z.txt", "last by name"}, {"report/a.json", ""}};
    const auto packed = pack_texts(members, 1'700'000'000);
    ASSERT_TRUE(packed);
    EXPECT_EQ(*packed, *pack_texts(members, 1'700'000'000));
    EXPECT_NE(*packed, *pack_texts({members[1], members[0]}, 1'700'000'000));

    tests::TempDir directory;
    const base::Root root = directory.root();
    ASSERT_TRUE(root.write_atomic("/x.tar.gz", *packed));
    const auto file = root.open_file("/x.tar.gz", O_RDONLY);
    ASSERT_TRUE(file);
    auto reader = ArchiveReader::open(FilePart{file->get()}, ArchiveFormat::Tar, "x.tar.gz");
    ASSERT_TRUE(reader);
    for (const TextMember& member : members) {
        const auto entry = reader->next();
        ASSERT_TRUE(entry);
        ASSERT_TRUE(*entry);
        EXPECT_EQ((*entry)->path, member.path);
        EXPECT_EQ((*entry)->mode, 0600U);
        EXPECT_EQ((*entry)->size, member.text.size());
    }
    const auto end = reader->next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(*end);
}

} // namespace
} // namespace gpuhost::content
