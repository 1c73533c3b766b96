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
    base::Json content = base::Json::object(); ///< empty if there is a problem
    std::string problem;                       ///< why the runtime cannot read it
    bool exists = true;
    bool is_secret = false; ///< the caller may not read it, so its state is unknown; `problem` says so
};

/// Limit on the files of a runtime. Files beyond it are reported as a problem.
inline constexpr std::size_t most_config_files = 128;

using ConfigParser = base::Result<base::Json> (*)(std::string_view text, std::string_view path);
/// Parses a JSON object, for Docker's daemon.json.
[[nodiscard]] base::Result<base::Json> parse_json_object(std::string_view text, std::string_view path);

/// Reads at most 1 MiB. The result contains all problems, also a missing file.
[[nodiscard]] ConfigFile read_config_file(const base::Root& root, const std::string& path,
                                          ConfigParser parser);
/// Returns an entry that gives the reason why a file's content is not known.
[[nodiscard]] ConfigFile unread(const std::string& path, const std::string& why);
[[nodiscard]] ConfigFile unreadable(const std::string& path); ///< for the caller

} // namespace gpuhost::runtime
