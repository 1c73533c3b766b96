// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/signing.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/passphrase.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <sys/prctl.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t passphrase_limit = 4096;

Result<std::string> needed(const Session& session, const Option& option, std::string_view hint) {
    if (auto value = session.arguments().value(option); value && !value->empty())
        return *std::move(value);
    return base::fail(Errc::InvalidArgument, "--" + std::string(option.name) + " is missing",
                      std::string(hint));
}

/// A signing key as named on the command line, with the contents of its files.
struct KeySource {
    std::string path;
    bool is_uri = false;
    std::string key;
    std::string certificates;
};

/// Rejects a PIN in the URI: every user of the machine can read the arguments of a running program.
Result<void> check_uri(const std::string& uri) {
    if (uri.find("pin-value=") == std::string::npos)
        return {};
    return base::fail(Errc::InvalidArgument,
                      "the key's PIN must not be in its URI: other users can read it there",
                      "Leave out pin-value=. Pass --passphrase-file, or enter the PIN on the terminal.");
}

bool is_pkcs12(const std::string& path) {
    return base::ends_with(path, ".p12") || base::ends_with(path, ".pfx");
}

Result<KeySource> read_source(const Session& session) {
    GPUHOST_TRY(path,
                needed(session, sign_key_option,
                       "Name the key that signs the bundle; gpuhost-bundle(5) describes how to make one."));
    KeySource source{path, base::starts_with(path, "pkcs11:"), {}, {}};
    if (source.is_uri) {
        GPUHOST_CHECK(check_uri(path));
    } else {
        GPUHOST_TRY(key, read_small_file(path, base::Root::default_limit));
        source.key = std::move(key);
        if (is_pkcs12(path))
            return source;
    }
    GPUHOST_TRY(cert_path, needed(session, certificate_option,
                                  "Name the key's certificate, which becomes part of the bundle."));
    GPUHOST_TRY(certificates, read_small_file(cert_path, base::Root::default_limit));
    source.certificates = std::move(certificates);
    return source;
}

Result<content::SigningKey> make_key(const KeySource& source, const std::string& secret) {
    if (source.is_uri)
        return content::SigningKey::from_uri(source.path, source.certificates, secret);
    if (is_pkcs12(source.path))
        return content::SigningKey::from_pkcs12(source.key, secret);
    return content::SigningKey::from_pem(source.key, source.certificates, secret);
}

} // namespace

Result<std::string> chosen_output(const Session& session) {
    return needed(session, output_option, "Name the file to write: -o FILE.");
}

Result<content::SigningKey> chosen_key(const Session& session) {
    (void)::prctl(PR_SET_DUMPABLE, 0); // keeps keys and passphrases out of core dumps
    GPUHOST_TRY(source, read_source(session));
    std::string secret;
    if (const auto file = session.arguments().value(passphrase_option)) {
        GPUHOST_TRY(text, read_small_file(*file, passphrase_limit));
        secret = text.substr(0, text.find('\n'));
        return make_key(source, secret);
    }
    auto key = make_key(source, secret);
    if (key || key.error().code != Errc::AccessDenied)
        return key;
    const auto asked = ask_passphrase(session, "Passphrase for " + printable(source.path) + ": ");
    return asked ? make_key(source, *asked) : std::move(key);
}

} // namespace gpuhost::ctl
