// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/windows.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/unknown_fields.hpp"

#include <algorithm>
#include <exception>

#include <date/tz.h>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr int horizon = 9; ///< days to look ahead: each window opens at least once a week
constexpr std::chrono::minutes day{24 * 60};

struct Interval {
    date::sys_seconds begin;
    date::sys_seconds end;
    const Window* window;
};

tl::unexpected<base::Error> wrong(const std::string& what) {
    return base::fail(
        Errc::InvalidArgument, what,
        R"(Write it as: {days: [Sat, Sun], start: "22:00", end: "04:00", timeZone: Europe/Berlin})");
}

/// Returns null for an unknown zone; the library throws an exception for it.
const date::time_zone* find_zone(const std::string& name) noexcept {
    try {
        return date::locate_zone(name);
    } catch (const std::exception&) {
        return nullptr;
    }
}

/// Parses the name of a weekday: 1 for "Mon", "monday" or "MONDAY".
std::optional<unsigned> weekday(std::string_view text) {
    constexpr std::array<std::string_view, 7> names{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (unsigned i = 0; i < names.size(); ++i)
        if (lower == names[i] || lower == names[i].substr(0, 3))
            return i;
    return std::nullopt;
}

/// Adds the days of "Sat", "Mon-Fri" or "Fri-Mon" to `window`. Returns false if the text is not valid.
bool add_days(std::string_view text, Window& window) {
    const auto dash = text.find('-');
    const auto first = weekday(base::trim(text.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : weekday(base::trim(text.substr(dash + 1)));
    if (!first || !last)
        return false;
    for (unsigned at = *first;; at = (at + 1) % 7) {
        window.days.at(at) = true;
        if (at == *last)
            return true;
    }
}

/// Parses a time such as "22:00"; nullopt if it is not valid.
std::optional<std::chrono::minutes> time_of_day(const Json& value) {
    if (!value.is_string())
        return std::nullopt;
    const auto parts = base::split(value.get_ref<const std::string&>(), ':');
    if (parts.size() != 2 || parts[0].size() > 2 || parts[1].size() != 2)
        return std::nullopt;
    const auto hours = base::parse_uint(parts[0]);
    const auto minutes = base::parse_uint(parts[1]);
    if (!hours || !minutes || *hours > 23 || *minutes > 59)
        return std::nullopt;
    return std::chrono::minutes(*hours * 60 + *minutes);
}

date::sys_seconds on_clock(const date::time_zone& zone, date::local_days on, std::chrono::minutes time,
                           bool is_end) {
    const auto local = date::local_seconds(on + time);
    const date::local_info info = zone.get_info(local);
    if (info.result == date::local_info::nonexistent)
        return info.second.begin;
    const auto& counts = is_end && info.result == date::local_info::ambiguous ? info.second : info.first;
    return date::sys_seconds(local.time_since_epoch() - counts.offset);
}

/// Returns the intervals around `now` in which a window is open, in order. Overlapping and adjacent intervals
/// are joined.
std::vector<Interval> intervals(const std::vector<Window>& windows, date::sys_seconds now) {
    std::vector<Interval> all;
    for (const Window& window : windows) {
        const date::time_zone* const zone = find_zone(window.zone);
        if (zone == nullptr)
            continue; // parse_window() knew the zone, but tzdata has changed since
        const date::local_days today = date::floor<date::days>(zone->to_local(now));
        for (int offset = -2; offset <= horizon; ++offset) {
            const date::local_days on = today + date::days(offset);
            if (!window.days.at(date::weekday(on).c_encoding()))
                continue;
            const bool over_midnight = window.end <= window.start;
            all.push_back({on_clock(*zone, on, window.start, false),
                           on_clock(*zone, on + date::days(over_midnight ? 1 : 0), window.end, true),
                           &window});
        }
    }
    std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::vector<Interval> joined;
    for (const Interval& one : all) {
        if (joined.empty() || one.begin > joined.back().end)
            joined.push_back(one);
        else if (one.end > joined.back().end) {
            joined.back().end = one.end;
            joined.back().window = one.window;
        }
    }
    return joined;
}

std::string clock_text(date::sys_seconds time, const Window& window) {
    return date::format("%a %F %H:%M %Z", date::make_zoned(find_zone(window.zone), time));
}

} // namespace

Result<Window> parse_window(const Json& value) {
    if (!value.is_object())
        return wrong("it is not a map");
    Window window;
    constexpr std::array<std::string_view, 4> known{"days", "start", "end", "timeZone"};
    if (const std::string unknown = unknown_fields(value, known); !unknown.empty())
        return wrong(unknown);
    if (const Json& days = base::member(value, "days"); !days.is_null()) {
        window.days.fill(false);
        if (!days.is_array() || days.empty())
            return wrong("days must be a list of days");
        for (const Json& name : days)
            if (!name.is_string() || !add_days(name.get_ref<const std::string&>(), window))
                return wrong("days: " + base::dump(name) + " is not a day of the week");
    }
    const auto start = time_of_day(base::member(value, "start"));
    const auto end = time_of_day(base::member(value, "end"));
    if (!start || !end)
        return wrong(std::string(start ? "end" : "start") + " must be a time of day such as \"22:00\"");
    window.start = *start;
    window.end = *end;
    window.zone = base::string_or(value, "timeZone", "UTC");
    if (find_zone(window.zone) == nullptr)
        return wrong("timeZone '" + window.zone + "' is not known on this host");
    return window;
}

WindowState window_at(const std::vector<Window>& windows, std::int64_t seconds) {
    if (windows.empty())
        return {};
    const date::sys_seconds now{std::chrono::seconds(seconds)};
    for (const Interval& one : intervals(windows, now)) {
        if (one.end <= now)
            continue;
        const bool open = one.begin <= now;
        const date::sys_seconds until = open ? one.end : one.begin;
        return {open, until.time_since_epoch().count(),
                open ? "the maintenance window is open until " + clock_text(until, *one.window)
                     : "the next maintenance window opens on " + clock_text(until, *one.window)};
    }
    return {false, seconds + std::chrono::seconds(day).count(),
            "no maintenance window opens: its time zone is not found on this host"};
}

} // namespace gpuhost::cluster
