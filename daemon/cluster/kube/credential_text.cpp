// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/credential_text.hpp"

#include "daemon/base/base64.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace gpuhost::cluster {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view begin = "-----BEGIN ";
constexpr std::string_view dashes = "-----";

struct Block {
    std::string label; ///< "CERTIFICATE"
    std::string headers;
    bool is_der = false; ///< the text is base64 of data that begins like DER
};

/// Splits headers from the body: lines with a colon, followed by an empty line (RFC 1421).
Block make_block(std::string_view label, std::string_view body) {
    Block block{std::string(label), {}, false};
    if (body.find(':') != std::string_view::npos) {
        const std::size_t last = body.rfind(':');
        const std::size_t end = std::min(body.find('\n', last), body.size());
        block.headers = body.substr(0, end);
        body.remove_prefix(end);
    }
    std::string digits(body);
    std::erase_if(digits, [](char c) { return c == ' ' || c == '\t'; });
    const auto der = base::decode_base64(digits);
    block.is_der = der && der->size() > 2 && der->front() == '\x30';
    return block;
}

/// Removes the next PEM block from the front of `pem` and returns it. A block begins at the start of a line,
/// as in OpenSSL and Go.
std::optional<Block> next_block(std::string_view& pem) {
    for (std::size_t at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin)) {
        const bool begins_line = at == 0 || pem[at - 1] == '\n';
        pem.remove_prefix(at + begin.size());
        const std::size_t end = pem.find(dashes);
        if (!begins_line || end == std::string_view::npos)
            continue;
        const std::string_view label = pem.substr(0, end);
        const std::string closing = "\n-----END " + std::string(label) + "-----";
        const std::size_t close = pem.find(closing, end);
        if (label.find('\n') != std::string_view::npos || close == std::string_view::npos)
            continue;
        const Block block = make_block(label, pem.substr(end + dashes.size(), close - end - dashes.size()));
        pem.remove_prefix(close + closing.size());
        return block;
    }
    return std::nullopt;
}

template <class Predicate>
std::optional<Block> find_block(std::string_view pem, const Predicate& wanted) {
    while (auto block = next_block(pem))
        if (wanted(*block))
            return block;
    return std::nullopt;
}

} // namespace

Result<void> check_certificates(std::string_view pem, std::string_view what) {
    const auto is_certificate = [](const Block& block) {
        return block.label == "CERTIFICATE" && block.headers.empty() && block.is_der;
    };
    if (find_block(pem, is_certificate))
        return {};
    return base::fail(
        Errc::BadContent, std::string(what) + ": has no certificate in PEM",
        "Provide one with '-----BEGIN CERTIFICATE-----'; convert DER with openssl x509 -inform DER.");
}

Result<void> check_private_key(std::string_view pem, std::string_view what) {
    const auto key = find_block(pem, [](const Block& block) {
        return block.label == "PRIVATE KEY" || base::ends_with(block.label, " PRIVATE KEY");
    });
    if (key && (key->label == "ENCRYPTED PRIVATE KEY" || key->headers.find("ENCRYPTED") != std::string::npos))
        return base::fail(Errc::Refused, std::string(what) + ": is encrypted with a passphrase",
                          "Remove the passphrase with openssl pkey -in FILE -out FILE.new.");
    if (!key || !key->is_der)
        return base::fail(Errc::BadContent, std::string(what) + ": has no private key in PEM",
                          "Provide one with '-----BEGIN PRIVATE KEY-----'.");
    return {};
}

Result<void> check_token(std::string_view token, std::string_view what) {
    const bool printable =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (!token.empty() && printable)
        return {};
    return base::fail(Errc::BadContent,
                      std::string(what) +
                          (token.empty() ? ": is empty" : ": has blanks or control characters"),
                      "Provide only the token, as kubectl create token prints it.");
}

} // namespace gpuhost::cluster
