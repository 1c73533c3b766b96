// SPDX-License-Identifier: Apache-2.0
#include "kmod/trust/module_trust.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/module/kernel_config.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/trust/efi_signatures.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::contains;
using base::Errc;
using content::ModuleCertificate;
using content::ModuleSigner;
using core::Problem;

namespace {

constexpr std::string_view way_out = "Import a set that is signed with a key of this kernel (gpuhostctl "
                                     "secure-boot status). Or sign it here (SigningKey= in gpuhostd.conf(5), "
                                     "gpuhostctl driver build) and enrol the key: gpuhostctl secure-boot "
                                     "show-enrolment prints how.";

/// Returns whether a key has the signer's name. The kernel's name of the key with CN=Site modules and O=Site
/// is "Site: Site modules" (x509_fabricate_name in the kernel).
bool is_called(const KernelKey& key, const std::string& name) {
    return !name.empty() && (key.name == name || base::ends_with(key.name, ": " + name));
}

/// Returns the Trust in a module that is signed with this key, from the keyrings that contain the key.
Trust trust_in(const KernelKey& key, const KernelKeys& keys) {
    if (contains(key.keyrings, ".blacklist"))
        return Trust::Blacklisted;
    const bool trusted = contains(key.keyrings, ".builtin_trusted_keys") ||
                         contains(key.keyrings, ".secondary_trusted_keys") ||
                         contains(key.keyrings, ".machine");
    if (trusted || !keys.in_keyrings)
        return Trust::Known;
    return contains(key.keyrings, ".platform") ? Trust::Distributor : Trust::Unknown;
}

/// Returns the best Trust of all keys for which `is` returns true; Blacklisted if one of them is.
template <class Is>
Trust best_of(const KernelKeys& keys, Is is) {
    Trust best = Trust::Unknown;
    for (const KernelKey& key : keys.keys) {
        const Trust trust = is(key) ? trust_in(key, keys) : Trust::Unknown;
        if (trust == Trust::Blacklisted) // the kernel checks the keyring .blacklist first
            return trust;
        if (trust < best)
            best = trust;
    }
    return best;
}

Problem problem(Errc code, const std::string& module, const std::string& text,
                std::string_view hint = way_out) {
    return {code, "module '" + module + "' " + text, std::string(hint)};
}

std::optional<Problem> trust_problem(const std::string& module, const std::string& who, Trust trust,
                                     const TrustRules& rules,
                                     const std::function<void(const std::string&)>& warn) {
    const bool enforced = !rules.enforcement.empty();
    if (trust == Trust::Blacklisted)
        return problem(Errc::AccessDenied, module,
                       "is signed by " + who + ", whose key is in the kernel's .blacklist",
                       "Import a set that is signed with another key.");
    if (trust == Trust::Unknown && enforced)
        return problem(
            Errc::AccessDenied, module,
            "is signed by " + who +
                ", a key that this kernel does not have, and it accepts no other: " + rules.enforcement);
    if (trust == Trust::Distributor && enforced)
        warn("module '" + module + "' is signed by " + who +
             ", a key in the keyring .platform, which the kernels of some distributions do not use");
    if (trust == Trust::NotTold && enforced)
        warn("module '" + module + "' is signed by " + who +
             "; /proc/keys cannot be read, so it is unknown whether this kernel has that key");
    return std::nullopt;
}

} // namespace

const ModuleCertificate* certificate_of(const ModuleSigner& signer, const TrustRules& rules) {
    const auto found =
        std::find_if(rules.certificates.begin(), rules.certificates.end(), [&](const auto& known) {
            return signer.key_id.empty() ? known.issuer == signer.issuer && known.serial == signer.serial
                                         : known.key_id == signer.key_id;
        });
    return found == rules.certificates.end() ? nullptr : &*found;
}

Trust trust_of(const ModuleSigner& signer, const TrustRules& rules) {
    if (!rules.keys)
        return Trust::NotTold;
    const ModuleCertificate* const certificate = certificate_of(signer, rules);
    std::string id = signer.key_id;
    if (certificate != nullptr)
        id = certificate->key_id.empty() ? certificate->serial : certificate->key_id;
    if (!id.empty())
        return best_of(*rules.keys, [&](const KernelKey& key) { return key.id == id; });
    // The signer's certificate is unknown, so only its issuer's name can be compared with the keys' subjects.
    // They are equal if the certificate is self-signed. They are also equal if the kernel has the issuer's
    // key; it may then have the signer's key too.
    const Trust named =
        best_of(*rules.keys, [&](const KernelKey& key) { return is_called(key, signer.name); });
    return named == Trust::Known || named == Trust::Blacklisted ? Trust::ByName : named;
}

std::string text_of(const ModuleSigner& signer, const TrustRules& rules) {
    const ModuleCertificate* const certificate = certificate_of(signer, rules);
    if (certificate != nullptr)
        return "'" + certificate->name + "' (key " +
               (certificate->key_id.empty() ? "with serial number " + certificate->serial
                                            : certificate->key_id) +
               ")";
    if (!signer.key_id.empty())
        return "the key " + signer.key_id;
    return "a certificate of '" + (signer.name.empty() ? signer.issuer : signer.name) + "' (serial number " +
           signer.serial + ")";
}

TrustRules trust_rules(const base::Root& root, const std::string& kernel) {
    TrustRules rules;
    rules.enforcement = signature_enforcement(root);
    rules.config = kernel_config(root, kernel);
    rules.keys = kernel_keys(root);
    for (const std::string& der : firmware_certificates(root))
        if (auto certificate = content::read_module_certificate(der, "a certificate of the firmware"))
            rules.certificates.push_back(std::move(*certificate));
    return rules;
}

base::Result<void> add_certificate(TrustRules& rules, const base::Root& root, const std::string& path) {
    if (path.empty())
        return {};
    GPUHOST_TRY(text, root.read(path));
    GPUHOST_TRY(certificate, content::read_module_certificate(text, path));
    rules.certificates.push_back(std::move(certificate));
    return {};
}

std::optional<Problem> signature_problem(const std::string& module, std::string_view file,
                                         const TrustRules& rules,
                                         const std::function<void(const std::string&)>& warn) {
    const bool enforced = !rules.enforcement.empty();
    const std::string signed_only = ", and the kernel accepts only signed modules: " + rules.enforcement;
    const auto read = content::read_module_signature(file, "module '" + module + "'");
    if (!read && read.error().code != Errc::Unsupported)
        return Problem{read.error().code, read.error().message, read.error().hint};
    if (!read && enforced) // the kernel treats a signature of an unsupported format as none
        return Problem{Errc::AccessDenied, read.error().message + signed_only, read.error().hint};
    if (!read)
        return std::nullopt;
    if (!*read)
        return enforced ? std::optional(problem(Errc::AccessDenied, module, "is not signed" + signed_only))
                        : std::nullopt;
    const content::ModuleSignature& signature = **read;
    if (enforced && !supports_hash(rules.config, signature.hash))
        return problem(
            Errc::AccessDenied, module,
            "is signed with " + signature.hash + ", which this kernel was built without" + signed_only,
            "Sign it with a hash that the kernel's configuration enables, such as CONFIG_MODULE_SIG_HASH.");
    const Trust trust = trust_of(signature.signer, rules);
    const ModuleCertificate* const certificate = certificate_of(signature.signer, rules);
    if (certificate != nullptr && (enforced || trust != Trust::Unknown)) {
        const auto fits =
            content::verify_module_signature(file, signature, certificate->der, "module '" + module + "'");
        if (!fits)
            return Problem{fits.error().code, fits.error().message, fits.error().hint};
    }
    return trust_problem(module, text_of(signature.signer, rules), trust, rules, warn);
}

} // namespace gpuhost::kmod
