// SPDX-License-Identifier: Apache-2.0
// Parses systemd's unit-file syntax: [Section], Key=Value, '#' and ';' comments; a backslash continues a
// line.
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

struct IniEntry {
    std::string section;
    std::string key;
    std::string value; ///< trimmed; empty resets to the default
    unsigned line = 0; ///< line number of the key, 1-based
};

struct IniSection {
    std::string name;
    unsigned line = 0;       ///< line number of the section's header, 1-based
    std::size_t entries = 0; ///< number of entries in the section
    std::size_t first = 0;   ///< index of the section's first entry
};

struct IniProblem {
    unsigned line = 0; ///< 1-based
    std::string text;  ///< "neither [Section] nor Key=Value"
};

struct IniFile {
    std::vector<IniEntry> entries;
    std::vector<IniSection> sections; ///< one for each header, even if it has no entries
    std::vector<IniProblem> problems; ///< skipped lines; the rest is still used

    [[nodiscard]] std::span<const IniEntry> entries_of(const IniSection& section) const {
        return std::span(entries).subspan(section.first, section.entries);
    }
};

inline constexpr std::size_t ini_size_limit = 256U << 10; ///< bytes; the caller enforces it when reading

/// Parses `text`. Never fails, so that an invalid line can't stop the daemon. An invalid line is skipped and
/// listed in IniFile::problems; below an invalid header, so are the section's entries. Values need not be
/// UTF-8.
[[nodiscard]] IniFile parse_ini(std::string_view text);

} // namespace gpuhost::base
