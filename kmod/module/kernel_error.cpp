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

constexpr std::string_view kernel_log = "the kernel's log says more: journalctl -k -g 'NVRM|nvidia'";
constexpr std::string_view sign =
    "'gpuhostctl secure-boot status' says which keys this kernel has; sign the modules with one of them "
    "(SigningKey= in gpuhostd.conf(5)), or bring in a signed set";
constexpr std::string_view rebuild =
    "bring in or build modules for the running kernel: gpuhostctl driver build";

constexpr std::array causes{
    Cause{ENOKEY, Errc::AccessDenied, "it is signed with a key that the kernel does not know", sign},
    Cause{EKEYREJECTED, Errc::AccessDenied, "the kernel rejects its signature, or that it has none", sign},
    Cause{EPERM, Errc::AccessDenied, "the kernel takes no unsigned modules (lockdown)", sign},
    Cause{EBADMSG, Errc::BadContent, "its signature is malformed", sign},
    Cause{ENOEXEC, Errc::Unsupported, "it was built for another kernel", rebuild},
    Cause{EINVAL, Errc::Unsupported,
          "the kernel refuses it: other symbol versions, or a parameter that it rejects", kernel_log},
    Cause{ENOENT, Errc::Unsupported, "it needs a symbol that the kernel does not have, or its file is gone",
          kernel_log},
    Cause{ENODEV, Errc::Failed, "the driver could not start any GPU", kernel_log},
    Cause{EEXIST, Errc::Busy, "another copy was loaded meanwhile",
          "see what loads it: udev, a service, a container"},
    Cause{ENOMEM, Errc::Failed, "the kernel has no memory for it", "free memory and try again"},
    Cause{ENOSPC, Errc::Failed, "the kernel has no room for it", kernel_log},
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
        return {Errc::InUse, what + ": it is in use", "stop what uses it, or swap with --holders=terminate"};
    return base::errno_error(what, error).with_hint(std::string(kernel_log));
}

base::Error console_error(std::string_view doing, int error) {
    if (error == EBUSY)
        return {Errc::InUse,
                std::string(doing) + ": the kernel leaves it as it is, as while something draws on it",
                "end what has the display, or switch from it to a text console"};
    return base::errno_error(doing, error);
}

base::Error hung_error(std::string_view doing) {
    return {Errc::RebootRequired, std::string(doing) + ": the kernel does not come back from it",
            "reboot the host; it starts with the driver that was selected before"};
}

} // namespace gpuhost::kmod
