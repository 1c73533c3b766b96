// SPDX-License-Identifier: Apache-2.0
// Errors as a person sees them: a small code, what happened to what, and what to do next.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuhost::base {

/// Every way in which gpuhost fails that a caller can act on. One table (error_table) maps each to its D-Bus
/// error name and gpuhostctl exit code; add here and there together.
enum class Errc {
    Failed,          ///< unexpected: I/O error, broken invariant
    InvalidArgument, ///< the request itself is wrong
    NotFound,        ///< no such version, operation, file
    AlreadyExists,   ///< would overwrite something that is not ours
    Busy,            ///< another operation runs, or too many requests wait
    InUse,           ///< something holds the driver
    Refused,         ///< preflight found problems, or policy says no
    BadContent,      ///< digest mismatch, truncated, malformed input
    Unsupported,     ///< wrong kernel, no headers, does not compile
    NoSpace,         ///< not enough room on disk
    AccessDenied,    ///< the caller may not do this
    Timeout,         ///< a deadline passed
    RebootRequired,  ///< only a reboot gets out of this state
    RolledBack,      ///< failed, and the host is as it was before
    Cancelled,       ///< a person cancelled it
    Interrupted,     ///< a worker or the daemon died half way
};

struct ErrcInfo {
    Errc code;
    std::string_view name;      ///< stable word, used in JSON and the transaction journal
    std::string_view dbus_name; ///< "org.gpuhost1.Error.…"
    int exit_code;              ///< gpuhostctl's exit status
};

[[nodiscard]] std::span<const ErrcInfo> error_table() noexcept;
[[nodiscard]] const ErrcInfo& info(Errc code) noexcept;
[[nodiscard]] Errc errc_from_name(std::string_view name) noexcept;      ///< unknown: Failed
[[nodiscard]] Errc errc_from_dbus_name(std::string_view name) noexcept; ///< unknown: Failed
[[nodiscard]] Errc errc_from_errno(int error) noexcept;

struct Error {
    Errc code = Errc::Failed;
    std::string message; ///< "context: object: reason", one line
    std::string hint;    ///< what to do next, a sentence; may be empty

    /// The same error, seen from one level up: "what: message".
    [[nodiscard]] Error context(std::string_view what) const;
    [[nodiscard]] Error with_hint(std::string text) const;
};

/// An errno as Error: "what: No such file or directory".
[[nodiscard]] Error errno_error(std::string_view what, int error);

} // namespace gpuhost::base
