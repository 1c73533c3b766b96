// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/kernel_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace gpuhost::kmod {
namespace {

using base::Errc;

struct Cause {
    int error;
    Errc code;
    std::string_view text;
    std::string_view hint;
};

constexpr std::string_view kernel_log = "See the kernel's log: journalctl -k -g 'NVRM|nvidia'.";
constexpr std::string_view sign = "Sign the modules with a key that this kernel has (SigningKey= in "
                                  "gpuhostd.conf(5)), or import a signed set. "
                                  "List its keys: gpuhostctl secure-boot status.";
constexpr std::string_view rebuild =
    "Import or build modules for the running kernel: gpuhostctl driver build.";

constexpr std::string_view symbols =
    "Import or build modules for the running kernel. Its log has the reason: journalctl -k -g nvidia.";

constexpr std::array causes{
    Cause{ENOKEY, Errc::AccessDenied, "it is signed with a key that the kernel does not have", sign},
    Cause{EKEYREJECTED, Errc::AccessDenied, "the kernel rejects it: its signature is invalid or missing",
          sign},
    Cause{EPERM, Errc::AccessDenied, "the kernel accepts no unsigned modules (lockdown)", sign},
    Cause{EBADMSG, Errc::BadContent, "its signature is malformed", sign},
    Cause{ENOEXEC, Errc::Unsupported, "it was built for another kernel", rebuild},
    Cause{EINVAL, Errc::Unsupported,
          "the kernel rejects it: symbol versions differ, or a parameter is invalid", symbols},
    Cause{ENOENT, Errc::Unsupported,
          "it needs a symbol that the kernel does not have, or its file is missing", symbols},
    Cause{ENODEV, Errc::Failed, "the driver could not start any GPU", kernel_log},
    Cause{EEXIST, Errc::Busy, "another program loaded it at the same time",
          "Find the program that loads it: udev, a service or a container."},
    Cause{ENOMEM, Errc::Failed, "the kernel has no memory for it", "Free some memory and try again."},
    Cause{ENOSPC, Errc::Failed, "the kernel has no space for it", kernel_log},
};

} // namespace

base::Error load_error(std::string_view module, int error) {
    const std::string what = "loading '" + std::string(module) + "'";
    const auto* const cause =
        std::find_if(causes.begin(), causes.end(), [&](const Cause& row) { return row.error == error; });
    if (cause == causes.end())
        return base::errno_error(what, error).with_hint(std::string(kernel_log));
    return {cause->code, what + ": " + std::string(cause->text), std::string(cause->hint)};
}

base::Error unload_error(std::string_view module, int error) {
    const std::string what = "unloading '" + std::string(module) + "'";
    if (error == EAGAIN || error == EBUSY)
        return {Errc::InUse, what + ": it is in use", "Stop its users, or swap with --holders=terminate."};
    return base::errno_error(what, error).with_hint(std::string(kernel_log));
}

base::Error console_error(std::string_view doing, int error) {
    if (error == EBUSY)
        return {Errc::InUse,
                std::string(doing) + ": the kernel refuses, for example while a program draws on it",
                "Stop the program that uses the display, or switch from it to a text console."};
    return base::errno_error(doing, error);
}

base::Error hung_error(std::string_view doing) {
    return {Errc::RebootRequired, std::string(doing) + ": the kernel does not respond",
            "Reboot the host: it starts with the driver that was selected before."};
}

} // namespace gpuhost::kmod
