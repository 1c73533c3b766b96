// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// One that a runtime reads, or tries to.
struct ConfigFile {
    std::string path;
    base::Json content = base::Json::object(); ///< empty where there is a problem
    std::string problem;                       ///< for which the runtime can't read it
    bool exists = true;
    bool is_secret = false; ///< it may be as good as any, but who asks may not read it; `problem` says so
};

/// A runtime that has more is not followed: what is beyond is a problem.
inline constexpr std::size_t most_config_files = 128;

using ConfigParser = base::Result<base::Json> (*)(std::string_view text, std::string_view path);
/// An object; for Docker's daemon.json.
[[nodiscard]] base::Result<base::Json> parse_json_object(std::string_view text, std::string_view path);

/// Of at most 1 MiB. Whatever is wrong, also that it is not there, is in the result.
[[nodiscard]] ConfigFile read_config_file(const base::Root& root, const std::string& path,
                                          ConfigParser parser);
/// A place in the list that says why what would stand there is not known.
[[nodiscard]] ConfigFile unread(const std::string& path, const std::string& why);
[[nodiscard]] ConfigFile unreadable(const std::string& path); ///< for who asks

} // namespace gpuhost::runtime
