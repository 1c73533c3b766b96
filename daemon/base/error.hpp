// SPDX-License-Identifier: Apache-2.0
// Errors for a person: a code, the object and the reason, and a hint.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuhost::base {

/// The kinds of failures that callers distinguish. error_table() maps each to its D-Bus error name and
/// gpuhostctl's exit status; extend both together.
enum class Errc {
    Failed,          ///< unexpected: I/O error, broken invariant
    InvalidArgument, ///< the request itself is wrong
    NotFound,        ///< the version, operation or file does not exist
    AlreadyExists,   ///< would overwrite something that gpuhost does not own
    Busy,            ///< another operation runs, or too many requests wait
    InUse,           ///< the driver, a module or a toolkit is in use
    Refused,         ///< preflight found problems, or a policy forbids it
    BadContent,      ///< digest mismatch, truncated, malformed input
    Unsupported,     ///< wrong kernel, no headers, does not compile
    NoSpace,         ///< not enough space on the disk
    AccessDenied,    ///< the caller may not do this
    Timeout,         ///< a deadline expired
    RebootRequired,  ///< only a reboot resolves this state
    RolledBack,      ///< failed, and the host is in its previous state
    Cancelled,       ///< cancelled on request
    Interrupted,     ///< a worker or the daemon died before the end
};

struct ErrcInfo {
    Errc code;
    std::string_view name;      ///< stable word, used in JSON and the transaction journal
    std::string_view dbus_name; ///< "org.gpuhost1.Error.…"
    int exit_code;              ///< gpuhostctl's exit status
};

[[nodiscard]] std::span<const ErrcInfo> error_table() noexcept;
[[nodiscard]] const ErrcInfo& info(Errc code) noexcept;
[[nodiscard]] Errc errc_from_name(std::string_view name) noexcept;      ///< Failed if `name` is unknown
[[nodiscard]] Errc errc_from_dbus_name(std::string_view name) noexcept; ///< Failed if `name` is unknown
[[nodiscard]] Errc errc_from_errno(int error) noexcept;

struct Error {
    Errc code = Errc::Failed;
    std::string message; ///< "context: object: reason", one line
    std::string hint;    ///< what to do next, a sentence; may be empty

    /// Returns the same error with a prefix: "what: message".
    [[nodiscard]] Error context(std::string_view what) const;
    [[nodiscard]] Error with_hint(std::string text) const;
};

/// Converts an errno to an Error: "what: No such file or directory".
[[nodiscard]] Error errno_error(std::string_view what, int error);

} // namespace gpuhost::base
