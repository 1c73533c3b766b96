// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/journal_sink.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

class JournalSink : public testing::Test {
  protected:
    ~JournalSink() override {
        (void)::unsetenv("JOURNAL_STREAM");
        (void)set_log_target("console");
    }

    /// Names the stream as systemd does.
    static std::string stream_of(int fd) {
        struct stat st {};
        EXPECT_EQ(::fstat(fd, &st), 0);
        return std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
    }
    static std::string target_with(const char* stream) {
        (void)(stream == nullptr ? ::unsetenv("JOURNAL_STREAM") : ::setenv("JOURNAL_STREAM", stream, 1));
        (void)set_log_target("console");
        log_to_journal();
        return log_target();
    }
};

TEST_F(JournalSink, JournalIsUsedIfStderrIsItsStream) {
    EXPECT_EQ(target_with(stream_of(STDERR_FILENO).c_str()), "journal");
}

TEST_F(JournalSink, JournalIsNotUsedForAnotherStream) {
    EXPECT_EQ(target_with(nullptr), "console");
    EXPECT_EQ(target_with(""), "console");
    EXPECT_EQ(target_with("8:0"), "console");
    EXPECT_EQ(target_with((stream_of(STDERR_FILENO) + "0").c_str()), "console");
}

} // namespace
} // namespace gpuhost::host
