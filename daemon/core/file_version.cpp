// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/file_version.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::core {
namespace {

std::string version_in_name(std::string name, bool (*is_version)(std::string_view)) {
    name.erase(std::min(name.rfind('.'), name.size()));
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '_' || c == '-' || c == ':'; }, ' ');
    for (const std::string& word : base::split_words(name))
        if (word.find('.') != std::string::npos && is_version(word))
            return word;
    return {};
}

} // namespace

std::string version_in_names(const std::vector<std::string>& names, bool (*is_version)(std::string_view)) {
    std::string version;
    for (const std::string& name : names) {
        const std::string found = version_in_name(name, is_version);
        if (!found.empty() && !version.empty() && version != found)
            return {};
        version = found.empty() ? version : found;
    }
    return version;
}

} // namespace gpuhost::core
