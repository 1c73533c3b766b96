// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/policy/windows.hpp"

#include <ctime>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

Window window(const Json& value) {
    const auto parsed = parse_window(value);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed.value_or(Window());
}

/// Returns the seconds since the epoch of a time in UTC.
std::int64_t at(int year, int month, int day, int hour, int minute) {
    std::tm parts{};
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    parts.tm_mday = day;
    parts.tm_hour = hour;
    parts.tm_min = minute;
    return ::timegm(&parts);
}

TEST(Windows, WithoutWindowsItIsAlwaysOpen) {
    EXPECT_TRUE(window_at({}, 0).open);
    EXPECT_FALSE(window_at({}, 0).until);
}

TEST(Windows, WindowPastMidnightBelongsToItsFirstDay) {
    const std::vector<Window> weekend{
        window({{"days", {"Sat"}}, {"start", "22:00"}, {"end", "04:00"}, {"timeZone", "Europe/Berlin"}})};
    const WindowState before = window_at(weekend, at(2026, 11, 28, 20, 59)); // 21:59 in Berlin
    EXPECT_FALSE(before.open);
    EXPECT_EQ(before.until, at(2026, 11, 28, 21, 0));
    EXPECT_EQ(before.reason, "the next maintenance window opens on Sat 2026-11-28 22:00 CET");
    EXPECT_TRUE(window_at(weekend, at(2026, 11, 28, 21, 0)).open);
    const WindowState night = window_at(weekend, at(2026, 11, 29, 2, 59));
    EXPECT_TRUE(night.open);
    EXPECT_EQ(night.until, at(2026, 11, 29, 3, 0));
    EXPECT_FALSE(window_at(weekend, at(2026, 11, 29, 3, 0)).open);
    EXPECT_FALSE(window_at(weekend, at(2026, 11, 29, 22, 0)).open) << "no window starts on Sunday";
}

TEST(Windows, SkippedStartOpensTheWindowAtTheJump) {
    const std::vector<Window> night{
        window({{"start", "02:30"}, {"end", "03:30"}, {"timeZone", "Europe/Berlin"}})};
    // 2026-03-29: 02:00 CET is 03:00 CEST
    EXPECT_FALSE(window_at(night, at(2026, 3, 29, 0, 59)).open);
    EXPECT_TRUE(window_at(night, at(2026, 3, 29, 1, 0)).open);
    EXPECT_EQ(window_at(night, at(2026, 3, 29, 1, 0)).until, at(2026, 3, 29, 1, 30));
}

TEST(Windows, RepeatedHourExtendsTheWindow) {
    const std::vector<Window> night{
        window({{"start", "02:15"}, {"end", "02:45"}, {"timeZone", "Europe/Berlin"}})};
    // 2026-10-25: 02:00 to 03:00 occurs twice: as CEST, from 00:00 UTC on, and then as CET
    EXPECT_FALSE(window_at(night, at(2026, 10, 25, 0, 14)).open);
    EXPECT_TRUE(window_at(night, at(2026, 10, 25, 0, 15)).open);
    EXPECT_EQ(window_at(night, at(2026, 10, 25, 0, 15)).until, at(2026, 10, 25, 1, 45));
}

TEST(Windows, AdjacentWindowsAreMerged) {
    const std::vector<Window> two{window({{"days", {"Mon"}}, {"start", "20:00"}, {"end", "00:00"}}),
                                  window({{"days", {"tuesday"}}, {"start", "00:00"}, {"end", "02:00"}})};
    EXPECT_EQ(window_at(two, at(2026, 11, 23, 21, 0)).until, at(2026, 11, 24, 2, 0));
}

TEST(Windows, InvalidWindowsNameTheProblem) {
    EXPECT_NE(parse_window({{"start", "22:00"}, {"end", "25:00"}}).error().message.find("end must be"),
              std::string::npos);
    EXPECT_FALSE(parse_window({{"start", "22:00"}, {"end", "4:00"}, {"day", "Sat"}}));
    EXPECT_FALSE(parse_window({{"start", "22:00"}, {"end", "04:00"}, {"days", {"Samstag"}}}));
    EXPECT_FALSE(parse_window({{"start", "22:00"}, {"end", "04:00"}, {"days", Json::array()}}));
    EXPECT_NE(parse_window({{"start", "22:00"}, {"end", "04:00"}, {"timeZone", "Mars/Olympus"}})
                  .error()
                  .message.find("Mars/Olympus"),
              std::string::npos);
    EXPECT_FALSE(parse_window("22:00-04:00"));
    EXPECT_TRUE(parse_window({{"start", "22:00"}, {"end", "04:00"}, {"days", {"Mon-Fri", "Sun"}}}));
}

/// Computes the state from the local time of each minute, without rules for clock changes.
bool is_open_by_the_wall(const Window& window, std::int64_t time) {
    ::setenv("TZ", window.zone.c_str(), 1);
    ::tzset();
    const std::time_t seconds = static_cast<std::time_t>(time);
    std::tm parts{};
    (void)::localtime_r(&seconds, &parts);
    const std::chrono::minutes now{parts.tm_hour * 60 + parts.tm_min};
    const auto today = window.days.at(static_cast<std::size_t>(parts.tm_wday));
    const auto yesterday = window.days.at(static_cast<std::size_t>((parts.tm_wday + 6) % 7));
    if (window.end > window.start)
        return today && now >= window.start && now < window.end;
    return (today && now >= window.start) || (yesterday && now < window.end);
}

TEST(Windows, StatesMatchLocalTimeForAYear) {
    for (const char* zone :
         {"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"})
        for (const auto& [start, end] :
             {std::pair("22:00", "04:00"), std::pair("05:30", "23:15"), std::pair("12:00", "12:00")}) {
            const Window one =
                window({{"days", {"Tue-Thu", "Sun"}}, {"start", start}, {"end", end}, {"timeZone", zone}});
            for (std::int64_t time = at(2026, 1, 1, 0, 0); time < at(2027, 1, 1, 0, 0); time += 151 * 60)
                ASSERT_EQ(window_at({one}, time).open, is_open_by_the_wall(one, time))
                    << zone << " " << start << " " << time;
        }
    ::unsetenv("TZ");
    ::tzset();
}

} // namespace
} // namespace gpuhost::cluster
