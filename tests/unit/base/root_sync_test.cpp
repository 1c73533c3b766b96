// SPDX-License-Identifier: Apache-2.0
// Tests atomic writes whose fsync fails. root_sync_cmocka.c tests the same with the same seam.
#include "daemon/base/root.hpp"
#include "tests/support/sync_seam.h"
#include "tests/support/tmpdir.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

testing::MockFunction<int(int)>* sync_mock = nullptr;

int call_mock(int fd) {
    return sync_mock->Call(fd);
}

class RootSync : public testing::Test {
  protected:
    RootSync() {
        directory.write("file", "old");
        sync_mock = &sync;
        seam_sync = call_mock;
        seam_count = 0;
    }
    ~RootSync() override { seam_sync = nullptr; }

    /// Returns a sync that succeeds, and checks the content that readers see at that moment.
    auto while_it_reads(const std::string& content) {
        return [this, content](int) {
            EXPECT_EQ(directory.read("file"), content);
            return 0;
        };
    }

    tests::TempDir directory;
    testing::MockFunction<int(int)> sync;
};

int no_space(int) {
    errno = ENOSPC;
    return -1;
}

TEST_F(RootSync, SyncsTheFileBeforeItsDirectory) {
    EXPECT_CALL(sync, Call).WillOnce(while_it_reads("old")).WillOnce(while_it_reads("new"));
    EXPECT_TRUE(directory.root().write_atomic("/file", "new"));
    ASSERT_EQ(seam_count, 2U);
    EXPECT_FALSE(seam_synced[0].directory);
    EXPECT_STREQ(seam_synced[0].content, "new");
    EXPECT_TRUE(seam_synced[1].directory);
}

TEST_F(RootSync, FailedFileSyncKeepsTheOldContent) {
    EXPECT_CALL(sync, Call).WillOnce(no_space);
    const auto written = directory.root().write_atomic("/file", "new");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Errc::NoSpace);
    EXPECT_EQ(directory.read("file"), "old");
    EXPECT_EQ(directory.root().list("/").value().size(), 1U); // no temporary file is left
}

TEST_F(RootSync, FailedDirectorySyncIsReported) {
    EXPECT_CALL(sync, Call).WillOnce(testing::Return(0)).WillOnce(no_space);
    EXPECT_FALSE(directory.root().write_atomic("/file", "new"));
}

} // namespace
} // namespace gpuhost::base
