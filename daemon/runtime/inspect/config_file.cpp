// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/config_file.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

Result<Json> parse_json_object(std::string_view text, std::string_view path) {
    GPUHOST_TRY(value, base::parse_json(text, path));
    if (!value.is_object())
        return base::fail(Errc::BadContent, std::string(path) + ": is not a JSON object");
    return std::move(value);
}

ConfigFile read_config_file(const base::Root& root, const std::string& path, ConfigParser parser) {
    const auto text = root.read(path);
    if (!text && text.error().code == Errc::AccessDenied)
        return unreadable(path);
    ConfigFile file;
    file.path = path;
    file.exists = text || text.error().code != Errc::NotFound;
    auto content = text ? parser(*text, path) : base::fail(text.error());
    if (content)
        file.content = std::move(*content);
    else
        file.problem = content.error().message;
    return file;
}

ConfigFile unread(const std::string& path, const std::string& why) {
    return {path, Json::object(), path + ": " + why, true, false};
}

ConfigFile unreadable(const std::string& path) {
    ConfigFile file = unread(path, "can't be read: run the command as root");
    file.is_secret = true;
    return file;
}

} // namespace gpuhost::runtime
