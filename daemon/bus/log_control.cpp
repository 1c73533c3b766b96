// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/log_control.hpp"

#include "daemon/base/log.hpp"
#include "daemon/host/journal_sink.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace gpuhost::bus {

namespace {

using base::log::Level;

struct LevelName {
    const char* name;
    Level level;
};
// The level names of syslog. If several names have one level, LogLevel reports the first of them.
constexpr std::array levels{
    LevelName{"err", Level::Error},       LevelName{"crit", Level::Error},
    LevelName{"alert", Level::Error},     LevelName{"emerg", Level::Error},
    LevelName{"warning", Level::Warning}, LevelName{"notice", Level::Notice},
    LevelName{"info", Level::Info},       LevelName{"debug", Level::Debug},
};

int get_level(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
    const auto found = std::find_if(levels.begin(), levels.end(),
                                    [](const LevelName& entry) { return entry.level == base::log::level(); });
    return sd_bus_message_append(reply, "s", found == levels.end() ? "info" : found->name);
}

int set_level(sd_bus*, const char*, const char*, const char*, sd_bus_message* value, void*,
              sd_bus_error* error) {
    const char* name = nullptr;
    if (const int r = sd_bus_message_read(value, "s", &name); r < 0)
        return r;
    const auto found = std::find_if(levels.begin(), levels.end(), [name](const LevelName& entry) {
        return std::string_view(entry.name) == name;
    });
    if (found == levels.end())
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "unknown log level '%s'", name);
    base::log::set_level(found->level);
    return 0;
}

int get_target(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
    return sd_bus_message_append(reply, "s", host::log_target());
}

int set_target(sd_bus*, const char*, const char*, const char*, sd_bus_message* value, void*,
               sd_bus_error* error) {
    const char* name = nullptr;
    if (const int r = sd_bus_message_read(value, "s", &name); r < 0)
        return r;
    if (!host::set_log_target(name))
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "unknown log target '%s'", name);
    return 0;
}

int get_identifier(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*,
                   sd_bus_error*) {
    return sd_bus_message_append(reply, "s", "gpuhostd");
}

// Writing is subject to sd-bus's default rule: only root, or the daemon's own user, may set these properties.
const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, set_level, 0, 0),
    SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", get_target, set_target, 0, 0),
    SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END,
};

} // namespace

const Interface& log_control() noexcept {
    static constexpr Interface interface {
        "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1", vtable
    };
    return interface;
}

} // namespace gpuhost::bus
