// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/endpoint.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::cluster {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t longest = 2048;

bool has_only(std::string_view text, std::initializer_list<std::string_view> allowed) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return std::any_of(allowed.begin(), allowed.end(),
                           [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
    });
}

bool is_host(std::string_view host) {
    if (base::starts_with(host, "[") && base::ends_with(host, "]"))
        return host.size() > 2 && has_only(host.substr(1, host.size() - 2), {digits, "abcdefABCDEF", ":."});
    return !host.empty() && has_only(host, {digits, letters, "-._"});
}

/// Accepts digits only: parse_uint() accepts no sign.
bool is_port(std::string_view port) {
    const auto number = base::parse_uint(port);
    return number && *number > 0 && *number <= 65535;
}

Result<void> check_authority(std::string_view authority) {
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    if (!is_host(has_port ? authority.substr(0, colon) : authority))
        return base::fail(Errc::BadContent, "has no valid host name or address");
    if (has_port && !is_port(authority.substr(colon + 1)))
        return base::fail(Errc::BadContent, "has a port that is not a number from 1 to 65535");
    return {};
}

struct Url {
    std::string scheme;
    std::string user; ///< includes the '@'
    std::string authority;
    std::string path; ///< without a trailing slash
};

Result<Url> parse_url(std::string_view text) {
    const std::size_t colon = text.find("://");
    if (text.size() > longest || colon == std::string_view::npos)
        return base::fail(Errc::BadContent, "is not a URL with a scheme");
    Url url{std::string(text.substr(0, colon)), {}, {}, {}};
    std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    text.remove_prefix(colon + 3);
    if (text.find_first_of("?#") != std::string_view::npos)
        return base::fail(Errc::BadContent, "has a query or a fragment");
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view authority = text.substr(0, slash);
    const std::size_t at = authority.rfind('@');
    const std::size_t host = at == std::string_view::npos ? 0 : at + 1;
    url.user = authority.substr(0, host);
    url.authority = authority.substr(host);
    url.path = text.substr(slash);
    while (base::ends_with(url.path, "/"))
        url.path.pop_back();
    GPUHOST_CHECK(check_authority(url.authority));
    if (!has_only(url.path, {digits, letters, "-._~!$&'()*+,;=:@%/"}) ||
        !has_only(url.user, {digits, letters, "-._~!$&'()*+,;=:@%"}))
        return base::fail(Errc::BadContent, "has characters that are not valid in a URL");
    return url;
}

std::string joined(const Url& url) {
    return url.scheme + "://" + url.user + url.authority + url.path;
}

} // namespace

Result<std::string> parse_server_url(std::string_view text) {
    GPUHOST_TRY(url, parse_url(text));
    if (url.scheme != "https")
        return base::fail(Errc::Refused, "does not begin with https://",
                          "Use the API server's own HTTPS port: TLS is always used and verified.");
    if (!url.user.empty())
        return base::fail(Errc::Refused, "has a user or a password in it",
                          "Use a client certificate or a token.");
    return joined(url);
}

Result<std::string> parse_http_url(std::string_view text) {
    GPUHOST_TRY(url, parse_url(text));
    if (url.scheme != "http" && url.scheme != "https")
        return base::fail(Errc::BadContent, "does not begin with http:// or https://");
    if (!url.user.empty())
        return base::fail(Errc::Refused, "has a user or a password in it",
                          "Use a token from a file of the host: tokenFile.");
    return joined(url);
}

Result<std::string> parse_proxy_url(std::string_view text) {
    GPUHOST_TRY(url, parse_url(text));
    if (url.scheme != "http" && url.scheme != "https" && url.scheme != "socks5")
        return base::fail(Errc::BadContent, "does not begin with http://, https:// or socks5://");
    return joined(url);
}

} // namespace gpuhost::cluster
