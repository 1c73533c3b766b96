// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/reference.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view default_registry = "docker.io";
constexpr std::size_t most_characters = 255; ///< of registry and repository together (NameTotalLengthMax)
constexpr std::size_t most_tag = 128;

bool is_lower_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alnum(char c) {
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/// Accepts the separators between letters and digits: one ".", one or two "_", any number of "-".
bool is_separator(std::string_view text) {
    return text == "." || text == "_" || text == "__" ||
           std::all_of(text.begin(), text.end(), [](char c) { return c == '-'; });
}

bool is_component(std::string_view text) {
    if (text.empty() || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back()))
        return false;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && !is_lower_alnum(text[end]))
            ++end;
        if (end > at && !is_separator(text.substr(at, end - at)))
            return false;
        at = std::max(end, at + 1);
    }
    return true;
}

bool is_host(std::string_view text) {
    const auto colon = text.rfind(':');
    const bool bracketed = !text.empty() && text.front() == '[';
    if (colon != std::string_view::npos && !(bracketed && text.back() == ']')) {
        const auto port = base::parse_uint(text.substr(colon + 1));
        if (!port || *port > 65535)
            return false;
        text = text.substr(0, colon);
    }
    if (bracketed)
        return text.size() > 2 && text.back() == ']' &&
               text.substr(1, text.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") ==
                   std::string_view::npos;
    const auto labels = base::split(text, '.');
    return std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
        return !label.empty() && is_alnum(label.front()) && is_alnum(label.back()) &&
               std::all_of(label.begin(), label.end(), [](char c) { return is_alnum(c) || c == '-'; });
    });
}

bool names_registry(std::string_view component) {
    return component == "localhost" || component.find_first_of(".:") != std::string_view::npos ||
           std::any_of(component.begin(), component.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// Removes ":tag" from the end of `name` and returns the tag, if there is one.
std::string_view parse_tag(std::string_view& name) {
    const auto colon = name.rfind(':');
    const auto slash = name.rfind('/');
    if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash))
        return {};
    const std::string_view tag = name.substr(colon + 1);
    name = name.substr(0, colon);
    return tag;
}

} // namespace

std::string Reference::text() const {
    return registry + "/" + repository + (digest.empty() ? ":" + tag : "@" + digest);
}

Result<Reference> parse_reference(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return base::fail(Errc::InvalidArgument,
                          "'" + std::string(text) + "' is not an image name: " + std::string(why),
                          "Use a name like registry.example/team/image:tag or …@sha256:<64 hex digits>.");
    };
    std::string_view name = text;
    Reference reference;
    if (const auto at = name.find('@'); at != std::string_view::npos) {
        reference.digest = name.substr(at + 1);
        name = name.substr(0, at);
        if (digest_hex(reference.digest).empty())
            return bad("its digest is not sha256:<64 lower-case hex digits>");
    }
    const bool tagged = name.rfind(':') != std::string_view::npos;
    const std::string_view tag = parse_tag(name);
    if (tagged && tag.data() != nullptr && !is_tag(tag))
        return bad("its tag is not one to 128 letters, digits, '.', '_' and '-'");
    const auto slash = name.find('/');
    const std::string_view first = name.substr(0, slash);
    if (slash != std::string_view::npos && names_registry(first)) {
        reference.registry = first == "index.docker.io" ? default_registry : first;
        name = name.substr(slash + 1);
    } else {
        reference.registry = default_registry;
    }
    reference.repository = name;
    if (reference.registry == default_registry && name.find('/') == std::string_view::npos)
        reference.repository = "library/" + reference.repository;
    if (!is_host(reference.registry))
        return bad("'" + reference.registry + "' is not a host");
    if (!is_repository(reference.repository))
        return bad(
            "repositories have lower-case letters and digits, with '.', '_', '-' and '/' between them");
    if (reference.registry.size() + 1 + reference.repository.size() > most_characters)
        return bad("longer than 255 characters");
    if (reference.digest.empty())
        reference.tag = tag.empty() ? "latest" : tag;
    return reference;
}

bool is_repository(std::string_view text) {
    const auto components = base::split(text, '/');
    return !text.empty() && text.size() <= most_characters &&
           std::all_of(components.begin(), components.end(),
                       [](const std::string& component) { return is_component(component); });
}

bool is_tag(std::string_view text) {
    return !text.empty() && text.size() <= most_tag && text.front() != '.' && text.front() != '-' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

std::string_view digest_hex(std::string_view digest) {
    constexpr std::string_view prefix = "sha256:";
    if (!base::starts_with(digest, prefix) || !content::is_sha256(digest.substr(prefix.size())))
        return {};
    return digest.substr(prefix.size());
}

PullPolicy default_pull_policy(std::string_view text) {
    std::string_view name = text.substr(0, text.find('@'));
    const bool digest = name.size() != text.size();
    const std::string_view tag = parse_tag(name);
    return tag == "latest" || (tag.empty() && !digest) ? PullPolicy::Always : PullPolicy::IfNotPresent;
}

} // namespace gpuhost::images
