// SPDX-License-Identifier: Apache-2.0
#include "images/peers_settings.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuhost::images {
namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::string_view default_port = "2990";
constexpr std::uint64_t last_port = 65535;
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

std::string peers_mistake(std::string_view value) {
    for (const std::string& word : base::split_words(value))
        if (peer_url(word).empty())
            return "'" + word + "' is neither HOST nor HOST:PORT";
    return "";
}

std::string domains_mistake(std::string_view value) {
    for (const std::string& word : base::split_words(value))
        if (!is_host_name(word))
            return "'" + word + "' is not a domain name";
    return "";
}

constexpr std::array keys{
    SettingKey{"Peers", "Peers", SettingType::Words, "", "", "hosts that have bundles, as HOST or HOST:PORT",
               "", peers_mistake},
    SettingKey{"Peers", "Domains", SettingType::Words, "", "", "domains whose DNS names further peers", "",
               domains_mistake},
    SettingKey{"Peers", "Bundles", SettingType::Words, "", "",
               "bundles to fetch by gpuhost-fetch.timer: names or shell patterns"},
    SettingKey{"Peers", "Timeout", SettingType::Span, "10s", "", "longest silence of a peer"},
};

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

bool is_address_character(char c) {
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

} // namespace

std::span<const SettingKey> peers_setting_keys() {
    return keys;
}

PeersSettings peers_settings(const core::Settings& settings) {
    return {settings.words("Peers", "Peers"), settings.words("Peers", "Domains"),
            settings.words("Peers", "Bundles"), settings.span("Peers", "Timeout")};
}

std::string peer_url(std::string_view peer) {
    const bool is_address = !peer.empty() && peer.front() == '[';
    const auto end = is_address ? peer.find(']') : std::min(peer.find(':'), peer.size());
    if (end == std::string_view::npos)
        return {};
    const std::string_view host = is_address ? peer.substr(1, end - 1) : peer.substr(0, end);
    std::string_view rest = peer.substr(is_address ? end + 1 : end);
    if (host.empty() ||
        !std::all_of(host.begin(), host.end(), is_address ? is_address_character : is_host_character))
        return {};
    if (rest.empty())
        rest = default_port;
    else if (rest.front() == ':')
        rest.remove_prefix(1);
    else
        return {};
    const auto port = base::parse_uint(rest);
    if (!port || *port == 0 || *port > last_port)
        return {};
    std::string url =
        "https://" + std::string(peer.substr(0, is_address ? end + 1 : end)) + ":" + std::to_string(*port);
    std::transform(url.begin(), url.end(), url.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return url;
}

bool is_host_name(std::string_view name) {
    const auto is_label = [](std::string_view label) {
        return !label.empty() && label.size() <= longest_label && label.front() != '-' &&
               label.back() != '-' && std::all_of(label.begin(), label.end(), is_host_character);
    };
    const auto labels = base::split(name, '.');
    return name.size() <= longest_name && std::all_of(labels.begin(), labels.end(), is_label);
}

} // namespace gpuhost::images
