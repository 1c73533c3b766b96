// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"
#include "daemon/ctl/secure_boot/view.hpp"
#include "kmod/trust/secure_boot.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using kmod::SigningSettings;

namespace {

constexpr Option create_option{"create", "", "first create the key and its certificate, if there are none"};
constexpr Option name_option{"name", "NAME", "the subject of the created certificate, at most 64 characters"};
constexpr std::array options{create_option, name_option, root_option, option::json};

constexpr std::string_view new_key = "/etc/gpuhost/modules.key";
constexpr std::string_view new_certificate = "/etc/gpuhost/modules.der";

/// Creates the key first, then the certificate. If the certificate exists, the pair is complete.
Result<void> create(const base::Root& root, const SigningSettings& signing, const std::string& name) {
    for (const std::string& path : {signing.key, signing.certificate}) {
        if (path.empty() || path.front() != '/')
            return base::fail(Errc::InvalidArgument, "'" + path + "' is not the path of a file",
                              "Create a key in a token with the token's own tools.");
        if (root.exists(path))
            return base::fail(Errc::AlreadyExists, path + ": already exists",
                              "Leave out --create to use the existing file.");
    }
    GPUHOST_TRY(identity, content::make_module_identity(name));
    for (const std::string& path : {signing.key, signing.certificate})
        GPUHOST_CHECK(root.make_directories(path.substr(0, path.rfind('/'))));
    GPUHOST_CHECK(root.write_atomic(signing.key, identity.key, 0600));
    return root.write_atomic(signing.certificate, identity.certificate);
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    SigningSettings signing =
        kmod::driver_settings(core::load_settings(root, {kmod::driver_setting_keys()}).settings).signing;
    if (signing.key.empty())
        signing.key = new_key;
    if (signing.certificate.empty())
        signing.certificate = new_certificate;
    const std::string host = root.read_line("/proc/sys/kernel/hostname").value_or("this host");
    if (given.has(create_option))
        GPUHOST_CHECK(create(root, signing, given.value(name_option).value_or("Kernel modules of " + host)));
    const auto text = root.read(signing.certificate);
    if (!text)
        return base::fail(text.error().with_hint("Name the site's certificate in SigningCertificate=, or "
                                                 "create a key: gpuhostctl secure-boot enroll --create."));
    GPUHOST_TRY(certificate, content::read_module_certificate(*text, signing.certificate));
    kmod::TrustRules rules = kmod::trust_rules(root, {});
    rules.certificates.push_back(certificate);
    const bool is_der = *text == certificate.der;
    const base::Json enrolment{{"certificate", signing.certificate},
                               {"der", is_der ? signing.certificate : signing.certificate + ".der"},
                               {"key", signing.key},
                               {"name", certificate.name},
                               {"key_id", certificate.key_id},
                               {"created", given.has(create_option)},
                               {"kernel", kmod::name(kmod::trust_of(certificate, rules))}};
    if (session.wants_json())
        session.print_json(enrolment);
    else
        session.print(render_enrolment(session.out(), enrolment));
    return 0;
}

} // namespace

const Verb secure_boot_enroll_verb{
    "secure-boot enroll",
    "",
    "print how to enrol the site's key with the kernel",
    "Prints how to enrol the key that signs this site's modules with the kernel: the mokutil(1) command, and "
    "the steps at the console at the next boot. If there is no key, --create makes one, readable by root "
    "only, and its certificate. Existing files are not replaced. Changes nothing else and needs no daemon.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
