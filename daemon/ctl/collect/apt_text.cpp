// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/apt_text.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>
#include <map>

namespace gpuhost::ctl {

namespace {

bool is_debian_version(std::string_view version) {
    return !version.empty() && std::all_of(version.begin(), version.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view(".+:~-").find(c) != std::string_view::npos;
    });
}

/// Name and version are in the path of a download, and on the terminal.
bool is_complete(const ArchivePackage& package) {
    return is_plain_name(package.name) && is_debian_version(package.version) &&
           content::is_sha256(package.sha256) && is_plain_name(package.file);
}

void set_field(ArchivePackage& package, std::string_view key, std::string_view value) {
    if (key == "Package")
        package.name = value;
    else if (key == "Version")
        package.version = value;
    else if (key == "Priority")
        package.priority = value;
    else if (key == "Filename")
        package.file = value.substr(value.rfind('/') + 1);
    else if (key == "SHA256")
        package.sha256 = value;
    else if (key == "Size")
        package.size = base::parse_uint(value).value_or(0);
}

/// Replaces escapes such as "%3a" by their characters.
std::string unescaped(std::string text) {
    for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos; ++at)
        if (const auto code = base::parse_uint(text.substr(at + 1, 2), 16); code && at + 3 <= text.size())
            text.replace(at, 3, 1, static_cast<char>(*code));
    return text;
}

} // namespace

bool is_plain_name(std::string_view name) {
    return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("+-._~").find(c) != std::string_view::npos;
    });
}

std::string ArchivePackage::upstream() const {
    const std::size_t epoch = version.find(':');
    const std::string rest = epoch == std::string::npos ? version : version.substr(epoch + 1);
    return rest.substr(0, rest.rfind('-'));
}

std::vector<ArchivePackage> parse_stanzas(std::string_view text) {
    std::vector<ArchivePackage> packages;
    ArchivePackage package;
    for (const std::string& line : base::split(std::string(text) + "\n", '\n')) {
        if (line.empty()) {
            if (is_complete(package))
                packages.push_back(std::move(package));
            package = {};
        }
        const std::size_t colon = line.find(':');
        if (colon != std::string::npos && line.front() != ' ')
            set_field(package, std::string_view(line).substr(0, colon),
                      base::trim(std::string_view(line).substr(colon + 1)));
    }
    return packages;
}

std::vector<ArchivePackage> parse_uris(std::string_view text, const std::vector<std::string>& local) {
    std::vector<ArchivePackage> packages;
    for (const std::string& line : base::split(text, '\n')) {
        const std::size_t end = line.find("' ");
        if (line.empty() || line.front() != '\'' || end == std::string::npos)
            continue;
        // file name, size, and a digest if it is of a kind that apt prints
        const auto words = base::split_words(std::string_view(line).substr(end + 2));
        const auto parts = base::split(words.empty() ? "" : words[0], '_');
        ArchivePackage package;
        package.url = line.substr(1, end - 1);
        const auto is_url = [url = unescaped(package.url)](const std::string& path) {
            return url == "file:" + path;
        };
        if (parts.size() != 3 || std::any_of(local.begin(), local.end(), is_url))
            continue;
        package.name = parts[0];
        package.version = unescaped(parts[1]);
        packages.push_back(std::move(package));
    }
    return packages;
}

} // namespace gpuhost::ctl
