// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// A configuration file that a runtime reads or tries to read.
struct ConfigFile {
    std::string path;
    base::Json content = base::Json::object(); ///< empty if there is a problem or no file
    std::string problem;                       ///< why the runtime can't read the file; empty if it can
    bool exists = true;
    bool is_secret = false; ///< the caller has no permission to read it; `problem` says so
};

/// Limit on the number of files of a runtime. More files are reported as a problem.
inline constexpr std::size_t most_config_files = 128;

using ConfigParser = base::Result<base::Json> (*)(std::string_view text, std::string_view path);
/// Parses a JSON object. The ConfigParser for Docker's daemon.json.
[[nodiscard]] base::Result<base::Json> parse_json_object(std::string_view text, std::string_view path);

/// Reads and parses a file of at most 1 MiB. Never fails: if there is a problem, such as a missing file, the
/// result contains it.
[[nodiscard]] ConfigFile read_config_file(const base::Root& root, const std::string& path,
                                          ConfigParser parser);
/// Returns an entry for a file whose content is not known because of `why`.
[[nodiscard]] ConfigFile unread(const std::string& path, const std::string& why);
[[nodiscard]] ConfigFile unreadable(const std::string& path); ///< for a file that the caller may not read

} // namespace gpuhost::runtime
