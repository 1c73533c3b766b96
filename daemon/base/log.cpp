// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/log.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::base::log {
namespace {

void to_stderr(Level level, std::string_view message, std::string_view, Fields) noexcept {
    static const bool journal = stderr_is_journal();
    if (journal)
        std::fprintf(stderr, "<%d>%.*s\n", static_cast<int>(level), static_cast<int>(message.size()),
                     message.data());
    else
        std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
}

Sink current_sink = to_stderr;
Level current_level = Level::Info;

} // namespace

void set_sink(Sink sink) noexcept {
    current_sink = sink == nullptr ? to_stderr : sink;
}

void set_level(Level level) noexcept {
    current_level = level;
}

Level level() noexcept {
    return current_level;
}

bool stderr_is_journal() noexcept {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat st {};
    if (stream == nullptr || ::fstat(STDERR_FILENO, &st) != 0)
        return false;
    char own[64];
    std::snprintf(own, sizeof own, "%ju:%ju", static_cast<std::uintmax_t>(st.st_dev),
                  static_cast<std::uintmax_t>(st.st_ino));
    return std::strcmp(own, stream) == 0;
}

void event(Level level, std::string_view message_id, Fields fields, std::string_view message) noexcept {
    if (static_cast<int>(level) <= static_cast<int>(current_level))
        current_sink(level, message, message_id, fields);
}

} // namespace gpuhost::base::log
