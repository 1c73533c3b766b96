// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/journal_sink.hpp"

#include "daemon/base/log.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

namespace gpuhost::host {

namespace {

bool to_journal = false;

std::string field(std::string_view name, std::string_view value) {
    std::string text(name);
    text += '=';
    text += value;
    return text;
}

void send(base::log::Level level, std::string_view message, std::string_view message_id,
          base::log::Fields fields) noexcept {
    try {
        std::vector<std::string> lines;
        lines.reserve(fields.size() + 3);
        lines.push_back(field("MESSAGE", message));
        lines.push_back(field("PRIORITY", std::to_string(static_cast<int>(level))));
        if (!message_id.empty())
            lines.push_back(field("MESSAGE_ID", message_id));
        for (const auto& [name, value] : fields)
            lines.push_back(field(name, value));
        std::vector<iovec> vectors;
        vectors.reserve(lines.size());
        for (auto& line : lines)
            vectors.push_back({line.data(), line.size()});
        (void)sd_journal_sendv(vectors.data(), static_cast<int>(vectors.size()));
    } catch (...) {
        // Out of memory while logging: the message is lost, the daemon goes on.
    }
}

/// systemd.exec(5): the variable alone may come from a parent whose stderr was another one.
bool stderr_is_the_journals() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat st {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &st) == 0 &&
           std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino) == stream;
}

} // namespace

void log_to_journal() noexcept {
    if (stderr_is_the_journals())
        (void)set_log_target("journal");
}

bool set_log_target(const char* target) noexcept {
    const bool journal = std::strcmp(target, "journal") == 0;
    if (!journal && std::strcmp(target, "console") != 0)
        return false;
    to_journal = journal;
    base::log::set_sink(journal ? send : nullptr);
    return true;
}

const char* log_target() noexcept {
    return to_journal ? "journal" : "console";
}

} // namespace gpuhost::host
