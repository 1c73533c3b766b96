// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle_signing.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/small_file.hpp"

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

Result<std::string> needed(const Session& session, const Option& option, std::string_view hint) {
    if (auto value = session.arguments().value(option); value && !value->empty())
        return *std::move(value);
    return base::fail(Errc::InvalidArgument, "--" + std::string(option.name) + " is missing",
                      std::string(hint));
}

} // namespace

Result<std::string> chosen_output(const Session& session) {
    return needed(session, output_option, "Name the file to write: -o FILE.");
}

Result<content::SigningKey> chosen_key(const Session& session) {
    GPUHOST_TRY(path, needed(session, sign_key_option,
                             "Hosts take signed bundles only. See gpuhost-bundle(5) for how to make "
                             "a key."));
    GPUHOST_TRY(key, read_small_file(path, base::Root::default_limit));
    std::string secret;
    if (const auto file = session.arguments().value(passphrase_option)) {
        GPUHOST_TRY(text, read_small_file(*file, 4096));
        secret = text.substr(0, text.find('\n'));
    }
    if (base::ends_with(path, ".p12") || base::ends_with(path, ".pfx"))
        return content::SigningKey::from_pkcs12(key, secret);
    GPUHOST_TRY(cert_path,
                needed(session, certificate_option, "It belongs to the key, and goes into the bundle."));
    GPUHOST_TRY(certificates, read_small_file(cert_path, base::Root::default_limit));
    return content::SigningKey::from_pem(key, certificates, secret);
}

} // namespace gpuhost::ctl
