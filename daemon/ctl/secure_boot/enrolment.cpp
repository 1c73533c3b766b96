// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/secure_boot/enrolment.hpp"

#include "daemon/ctl/secure_boot/view.hpp"

namespace gpuhost::ctl {

using kmod::SigningSettings;

namespace {

constexpr std::string_view new_key = "/etc/gpuhost/modules.key";
constexpr std::string_view new_certificate = "/etc/gpuhost/modules.der";

} // namespace

SigningSettings signing_files(const base::Root& root) {
    SigningSettings signing =
        kmod::driver_settings(core::load_settings(root, {kmod::driver_setting_keys()}).settings).signing;
    if (signing.key.empty())
        signing.key = new_key;
    if (signing.certificate.empty())
        signing.certificate = new_certificate;
    return signing;
}

base::Result<int> print_enrolment(Session& session, const base::Root& root, const SigningSettings& signing,
                                  bool created) {
    const auto text = root.read(signing.certificate);
    if (!text)
        return base::fail(text.error().with_hint("Name the site's certificate in SigningCertificate=, or "
                                                 "create a key: gpuhostctl secure-boot create-key."));
    GPUHOST_TRY(certificate, content::read_module_certificate(*text, signing.certificate));
    kmod::TrustRules rules = kmod::trust_rules(root, {});
    rules.certificates.push_back(certificate);
    const bool is_der = *text == certificate.der;
    const base::Json enrolment{{"certificate", signing.certificate},
                               {"der", is_der ? signing.certificate : signing.certificate + ".der"},
                               {"key", signing.key},
                               {"name", certificate.name},
                               {"key_id", certificate.key_id},
                               {"created", created},
                               {"kernel", kmod::name(kmod::trust_of(certificate, rules))}};
    if (session.wants_json())
        session.print_json(enrolment);
    else
        session.print(render_enrolment(session.out(), enrolment));
    return 0;
}

} // namespace gpuhost::ctl
