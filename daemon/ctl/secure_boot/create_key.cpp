// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/secure_boot/enrolment.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using kmod::SigningSettings;

namespace {

constexpr Option name_option{"name", "NAME", "the subject of the certificate, at most 64 characters"};
constexpr std::array options{name_option, root_option, option::json};

/// Creates the key first, then the certificate. If the certificate exists, the pair is complete. Without a
/// certificate the new key is of no use, so it is removed.
Result<void> create(const base::Root& root, const SigningSettings& signing, const std::string& name) {
    for (const std::string& path : {signing.key, signing.certificate}) {
        if (path.empty() || path.front() != '/')
            return base::fail(Errc::InvalidArgument, "'" + path + "' is not the path of a file",
                              "Create a key in a token with the token's own tools.");
    }
    const bool has_key = root.exists(signing.key);
    const bool has_certificate = root.exists(signing.certificate);
    if (has_key || has_certificate)
        return base::fail(
            Errc::AlreadyExists,
            (has_key ? signing.key : signing.certificate) + ": already exists" +
                (has_certificate ? "" : ", but its certificate " + signing.certificate + " is missing"),
            has_certificate ? "Show how to enrol it: gpuhostctl secure-boot show-enrolment."
                            : "Restore the certificate, or move the key away and repeat the command.");
    GPUHOST_TRY(identity, content::make_module_identity(name));
    for (const std::string& path : {signing.key, signing.certificate})
        GPUHOST_CHECK(root.make_directories(path.substr(0, path.rfind('/'))));
    GPUHOST_CHECK(root.write_atomic(signing.key, identity.key, 0600));
    auto written = root.write_atomic(signing.certificate, identity.certificate);
    if (!written) // perhaps only the sync of the directory failed
        for (const std::string& path : {signing.certificate, signing.key})
            (void)root.remove(path);
    return written;
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    const SigningSettings signing = signing_files(root);
    const std::string host = root.read_line("/proc/sys/kernel/hostname").value_or("this host");
    GPUHOST_CHECK(create(root, signing, given.value(name_option).value_or("Kernel modules of " + host)));
    return print_enrolment(session, root, signing, true);
}

constexpr std::array examples{
    Example{"secure-boot create-key --name='Site modules'", "create a key, and show how to enrol it"}};

} // namespace

const Verb secure_boot_create_key_verb{
    "secure-boot create-key",
    "",
    "create a key for the site's modules, and print how to enrol it",
    "Creates a key that signs this site's modules, readable by root only, and its certificate. Then prints "
    "how to enrol it, as 'secure-boot show-enrolment' does. Existing files are not replaced. Needs no "
    "daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
