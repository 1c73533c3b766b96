// SPDX-License-Identifier: Apache-2.0
// systemd's unit-file syntax: [Section], Key=Value, '#' and ';' comments, a backslash joins lines.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

struct IniEntry {
    std::string section;
    std::string key;
    std::string value; ///< trimmed; empty: back to the default
    unsigned line = 0; ///< 1-based, of the key
};

struct IniFile {
    std::vector<IniEntry> entries;
    std::vector<std::string> problems; ///< "line 3: …": skipped lines; the rest is still used
};

inline constexpr std::size_t ini_size_limit = 256U << 10; ///< bytes; the caller enforces it when reading

/// Never fails: what can't be read is a problem with its line, so that one bad line can't take a daemon down.
[[nodiscard]] IniFile parse_ini(std::string_view text);

} // namespace gpuhost::base
