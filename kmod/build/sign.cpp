// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/sign.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "daemon/content/crypto/module_certificate.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/module/kernel_config.hpp"
#include "kmod/store/manifest.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using content::ModuleCertificate;
using content::SetWriter;
using content::SigningKey;
using core::Problem;
using core::StepContext;

namespace {

constexpr std::string_view uri_scheme = "pkcs11:";
// A directory that store.publish ignores; renamed when the set is complete.
constexpr const char* signing_place = "/signing";
constexpr std::string_view see_settings = "See SigningKey= in gpuhostd.conf(5).";

bool is_uri(const std::string& key) {
    return base::starts_with(key, uri_scheme);
}

SigningSettings signing_of(const Json& args) {
    const Json& value = base::member(args, "signing");
    return {base::string_or(value, "key", {}), base::string_or(value, "certificate", {}),
            base::string_or(value, "hash", {}), base::string_or(value, "passphrase_file", {})};
}

struct Signer {
    SigningKey key;
    ModuleCertificate certificate;
};

Result<Signer> open_signer(const base::Root& root, const SigningSettings& signing) {
    GPUHOST_TRY(text, root.read(signing.certificate));
    GPUHOST_TRY(certificate, content::read_module_certificate(text, signing.certificate));
    std::string passphrase;
    if (!signing.passphrase_file.empty()) {
        GPUHOST_TRY(line, root.read_line(signing.passphrase_file));
        passphrase = std::move(line);
    }
    if (is_uri(signing.key)) {
        GPUHOST_TRY(key, SigningKey::from_uri(signing.key, certificate.pem, passphrase));
        return Signer{std::move(key), std::move(certificate)};
    }
    GPUHOST_TRY(pem, root.read(signing.key));
    GPUHOST_TRY(key, SigningKey::from_pem(pem, certificate.pem, passphrase));
    return Signer{std::move(key), std::move(certificate)};
}

// --- preflight

/// Adds a problem if other users than root can read the file with the key or passphrase. The compiler of
/// foreign source runs on this host as another user.
void check_secret(const base::Root& root, const std::string& path, std::vector<Problem>& problems) {
    const auto st = root.stat(path);
    const bool is_own = st && (st->st_uid == 0 || st->st_uid == ::geteuid());
    if (st && (!is_own || (st->st_mode & (S_IRWXG | S_IRWXO)) != 0))
        problems.push_back({Errc::AccessDenied,
                            path + ": permissions too open: other users than root can read it, as might "
                                   "builds of foreign source",
                            "Run: chown root:root " + path + " && chmod 0600 " + path +
                                ". Replace it if another user may have read it."});
}

void check_certificate(const ModuleCertificate& certificate, const std::string& path,
                       const StepContext& context, std::vector<Problem>& problems) {
    if (!certificate.signs || !certificate.signs_code)
        problems.push_back(
            {Errc::InvalidArgument,
             path + ": the certificate '" + certificate.name + "' is not for " +
                 (certificate.signs ? "signing code (extended key usage)" : "signing (key usage)"),
             "Use one with keyUsage digitalSignature and extendedKeyUsage codeSigning."});
    if (certificate.until < base::realtime_us() / 1'000'000)
        context.warn(path + ": the certificate '" + certificate.name + "' expired on " +
                     base::utc_text(certificate.until) + "; kernels accept it, mokutil and firmware may not");
}

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    const SigningSettings signing = signing_of(args);
    std::vector<Problem> problems = signing_problems(signing);
    if (!is_uri(signing.key))
        check_secret(context.root, signing.key, problems);
    if (!signing.passphrase_file.empty())
        check_secret(context.root, signing.passphrase_file, problems);
    const std::string kernel = base::string_or(args, "kernel", {});
    if (!supports_hash(kernel_config(context.root, kernel), signing.hash))
        problems.push_back({Errc::Unsupported, "kernel " + kernel + " was built without " + signing.hash,
                            "Set SigningHash= to a hash that its configuration enables."});
    const auto signer =
        problems.empty() ? open_signer(context.root, signing) : base::fail(Errc::Refused, "not read");
    if (signer)
        check_certificate(signer->certificate, signing.certificate, context, problems);
    else if (problems.empty())
        problems.push_back({signer.error().code, "cannot sign modules: " + signer.error().message,
                            signer.error().hint.empty() ? std::string(see_settings) : signer.error().hint});
    return problems;
}

// --- apply

/// Copies a module set to /modules in the staging directory and signs its modules.
class Signing {
  public:
    Signing(const StepContext& context, const base::Root& staging, const Signer& signer, std::string hash)
        : context_(context), staging_(staging), signer_(signer), hash_(std::move(hash)) {}

    /// Makes the signed set at `place` and returns how many modules were signed. If all were signed already,
    /// as when the step is repeated, the set has the same content.
    Result<std::size_t> run(const SetOnDisk& set, const std::string& place) {
        GPUHOST_TRY(writer, SetWriter::create(staging_, signing_place));
        Manifest manifest = set.manifest;
        std::size_t count = 0;
        for (ModuleFile& module : manifest.modules) {
            context_.progress(static_cast<double>(&module - manifest.modules.data()) /
                                  static_cast<double>(manifest.modules.size()),
                              "signing " + module.file);
            GPUHOST_TRY(made, copy(set, writer, module));
            if (made)
                module.signer = signer_.certificate.name;
            count += made ? 1 : 0;
        }
        GPUHOST_CHECK(finish_set(writer, std::move(manifest)));
        GPUHOST_CHECK(staging_.make_directories("/modules"));
        if (staging_.exists(place))
            GPUHOST_CHECK(staging_.exchange(signing_place, place));
        else
            GPUHOST_CHECK(staging_.rename(signing_place, place));
        GPUHOST_CHECK(staging_.remove_tree(signing_place));
        return count;
    }

  private:
    /// Copies one module, and signs the copy unless it is signed already. Returns whether it was signed here.
    Result<bool> copy(const SetOnDisk& set, SetWriter& writer, const ModuleFile& module) {
        const base::UniqueFd in(::openat(set.directory.get(), module.file.c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!in)
            return base::fail_errno(module.file, errno);
        GPUHOST_TRY(mapped, base::MappedFile::open(in.get(), module.file));
        const std::string_view image = mapped.view();
        if (content::sha256(image) != module.sha256)
            return base::fail(Errc::BadContent, module.file + ": digest mismatch", "Build it again.");
        std::string signature;
        // A signed module keeps its signature: if a second one were added, the kernel would use only that. A
        // signed module without a signer in the manifest is refused: the process that compiled or imported it
        // could not parse the signature, and this process must not parse it.
        const bool is_signed = base::ends_with(image, content::module_signature_magic);
        if (is_signed && module.signer.empty())
            return base::fail(Errc::BadContent, module.file + ": cannot read the signature at its end",
                              "Build it again from its source.");
        if (!is_signed) {
            GPUHOST_TRY(made, signer_.key.sign_module(image, hash_));
            signature = std::move(made);
        }
        const std::string temporary = std::string(signing_place) + "/.signed";
        GPUHOST_CHECK(staging_.remove(temporary));
        GPUHOST_TRY(out, staging_.open_file(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
        GPUHOST_CHECK(base::write_all(out.get(), image, module.file));
        GPUHOST_CHECK(base::write_all(out.get(), signature, module.file));
        if (!signature.empty())
            GPUHOST_CHECK(check(out.get(), module.file));
        GPUHOST_TRY(digest, content::sha256_of_file(out.get(), module.file));
        GPUHOST_CHECK(writer.adopt(".signed", module.file, digest));
        return !is_signed;
    }

    /// Verifies the signature that the key or PKCS#11 token has just made.
    Result<void> check(int fd, const std::string& file) const {
        GPUHOST_TRY(mapped, base::MappedFile::open(fd, file));
        GPUHOST_TRY(signature, content::read_module_signature(mapped.view(), file));
        if (!signature)
            return base::fail(Errc::Failed, "signing " + file + ": the key did not produce a signature");
        return content::verify_module_signature(mapped.view(), *signature, signer_.certificate.der, file);
    }

    const StepContext& context_;
    const base::Root& staging_;
    const Signer& signer_;
    std::string hash_;
};

Result<Json> apply(StepContext& context, const Json& args) {
    const SigningSettings signing = signing_of(args);
    GPUHOST_TRY(kernel, base::get_string(args, "kernel"));
    GPUHOST_TRY(flavour, base::get_string(args, "flavour"));
    const std::string place = "/modules/" + kernel + "-" + flavour;
    const std::string set_path = base::string_or(args, "set", {});
    GPUHOST_CHECK(context.root.make_directories(context.staging));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(context.staging)));
    GPUHOST_TRY(set, set_path.empty() ? read_set_at(staging, place) : read_set_at(context.root, set_path));
    if (set.manifest.kind != SetKind::Modules || set.manifest.kernel != kernel)
        return base::fail(Errc::BadContent, "there are no modules for kernel " + kernel + " to sign");
    GPUHOST_TRY(signer, open_signer(context.root, signing));
    GPUHOST_TRY(count, Signing(context, staging, signer, signing.hash).run(set, place));
    return Json{{"version", set.manifest.version},
                {"kernel", kernel},
                {"signer", signer.certificate.name},
                {"signed", count}};
}

} // namespace

Json to_json(const SigningSettings& signing) {
    return Json{{"key", signing.key},
                {"certificate", signing.certificate},
                {"hash", signing.hash},
                {"passphrase_file", signing.passphrase_file}};
}

std::vector<Problem> signing_problems(const SigningSettings& signing) {
    std::vector<Problem> problems;
    if (signing.certificate.empty())
        problems.push_back({Errc::InvalidArgument,
                            "SigningKey= is set, but no SigningCertificate=", std::string(see_settings)});
    if (has_pin(signing.key))
        problems.push_back({Errc::InvalidArgument, "SigningKey= contains a PIN, but settings are not secret",
                            "Put the PIN into a separate file, and set SigningPassphraseFile= to its path."});
    return problems;
}

core::StepCode build_sign_code() {
    // Needs no verify: each signature was checked against its module, and the step store.publish hashes all
    // files again. Needs no undo: the staging directory is deleted with its transaction.
    return {.name = "build.sign", .preflight = preflight, .apply = apply};
}

} // namespace gpuhost::kmod
