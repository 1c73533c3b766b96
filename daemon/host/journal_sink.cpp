// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/journal_sink.hpp"

#include "daemon/base/log.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <sys/uio.h>
#include <systemd/sd-journal.h>

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
        // Out of memory while logging: the message is lost, the daemon continues.
    }
}

} // namespace

void log_to_journal() noexcept {
    if (base::log::stderr_is_journal())
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
