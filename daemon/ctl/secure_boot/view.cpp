// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/secure_boot/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::string firmware_line(const Json& status) {
    const std::string state = text_of(status, "secure_boot");
    return state.empty() ? "not known: no UEFI, or its variables can't be read" : state;
}

std::string modules_line(const Screen& screen, const Json& status) {
    const std::string why = text_of(status, "enforcement");
    return why.empty() ? "any; those without a good signature taint the kernel"
                       : screen.paint(Style::Bold, "signed ones only") + ": " + why;
}

/// Returns whether the kernel trusts the key, as text. `kernel` is the name of a kmod::Trust.
std::string standing(const Screen& screen, const std::string& kernel) {
    if (kernel == "known" || kernel == "by-name")
        return screen.paint(Style::Good, "the kernel has it");
    if (kernel == "platform")
        return screen.paint(Style::Warn,
                            "the kernel has it in .platform, which only some kernels use for modules");
    if (kernel == "blacklisted")
        return screen.paint(Style::Bad, "the kernel has it in .blacklist");
    if (kernel == "not-told")
        return "not known whether the kernel has it";
    return screen.paint(Style::Warn, "the kernel does not have it") +
           "; see gpuhostctl secure-boot show-enrolment";
}

std::string certificate_line(const Screen& screen, const Json& status) {
    const Json& certificate = base::member(status, "certificate");
    const std::string error = text_of(status, "certificate_error");
    if (!error.empty())
        return screen.paint(Style::Bad, error);
    if (!certificate.is_object())
        return "none (SigningCertificate= in gpuhostd.conf)";
    return "'" + text_of(certificate, "name") + "': " + standing(screen, text_of(certificate, "kernel"));
}

std::string render_keys(const Screen& screen, const Json& status) {
    if (!base::member(status, "keys").is_array())
        return "The kernel's keys can't be read (/proc/keys).\n";
    const bool told = base::bool_or(status, "keyrings_known", false);
    Table table({{"KEYRING"}, {"KEY"}, {"ID", Table::Align::Left, 1}});
    for (const Json& key : list_of(status, "keys"))
        table.add({printable(base::join(base::strings_or_empty(key, "keyrings"), " ")), text_of(key, "name"),
                   text_of(key, "id")});
    if (table.empty())
        return told ? "The kernel has no keys for modules.\n"
                    : "The kernel shows no keys; root sees all of them.\n";
    return table.render(screen) + (told ? "" : "Only root can see their keyrings.\n");
}

std::string render_sets(const Screen& screen, const Json& status) {
    std::string lines;
    for (const Json& set : list_of(status, "sets")) {
        const Json& problems = list_of(set, "problems");
        lines += "  " + text_of(set, "version") + " (" + text_of(set, "flavour") + ")" +
                 (base::bool_or(set, "selected", false) ? ", selected" : "") + ": " +
                 (problems.empty() ? screen.paint(Style::Good, "would load")
                                   : screen.paint(Style::Bad, "would be refused")) +
                 "\n";
        if (!problems.empty())
            lines +=
                "    " + text_of(problems[0], "text") +
                (problems.size() > 1 ? "; and " + plural(problems.size() - 1, "more module", "more modules")
                                     : "") +
                "\n";
        for (const std::string& warning : base::strings_or_empty(set, "warnings"))
            lines += "    " + printable(warning) + "\n";
    }
    return lines.empty() ? "" : fit(screen, "\nDrivers in the store, by their signatures:\n" + lines);
}

} // namespace

std::string render_secure_boot(const Screen& screen, const Json& status) {
    Facts facts;
    facts.add("Secure Boot", firmware_line(status));
    facts.add("Kernel", text_of(status, "kernel"));
    facts.add("Modules", modules_line(screen, status));
    facts.add("Site's key", certificate_line(screen, status));
    return facts.render(screen) + "\n" + render_keys(screen, status) + render_sets(screen, status);
}

std::string render_enrolment(const Screen& screen, const Json& enrolment) {
    const std::string kernel = text_of(enrolment, "kernel");
    const std::string path = text_of(enrolment, "certificate");
    Facts facts;
    facts.add("Certificate", path + (base::bool_or(enrolment, "created", false) ? ", new" : ""));
    facts.add("Key", "'" + text_of(enrolment, "name") + "' " + text_of(enrolment, "key_id"));
    if (base::bool_or(enrolment, "created", false))
        facts.add("Settings",
                  "[Driver] SigningKey=" + text_of(enrolment, "key") + " SigningCertificate=" + path);
    std::string text = facts.render(screen) + "\n";
    if (kernel == "known")
        return text + fit(screen, standing(screen, kernel) + ": there is nothing to enrol.\n");
    const std::string der = text_of(enrolment, "der");
    text += "To enrol it with the kernel:\n";
    if (der != path)
        text += "  openssl x509 -in " + path + " -outform DER -out " + der + "\n";
    return text + "  mokutil --import " + der + "\n" +
           hanging(screen, "",
                   "mokutil asks for a password, which is used once. Then reboot with access to the console, "
                   "for example by the BMC: MokManager waits ten seconds for a key to be pressed. Choose "
                   "Enroll MOK, Continue, Yes, enter the password, Reboot. 'gpuhostctl secure-boot status' "
                   "shows whether the kernel has the key.") +
           "\n\n" +
           hanging(screen, "",
                   "Without access to a console, add the certificate to the firmware's db, by its setup or "
                   "the BMC. Most distributions' kernels accept keys from there, in .platform, for modules "
                   "too. Or build the certificate into the kernel.") +
           "\n";
}

} // namespace gpuhost::ctl
