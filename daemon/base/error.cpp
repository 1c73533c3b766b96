// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gpuhost::base {
namespace {

// Exit codes are documented in gpuhostctl(1). 77, and those above 125, are reserved for test harnesses and
// shells.
constexpr std::array table{
    ErrcInfo{Errc::Failed, "failed", "org.gpuhost1.Error.Failed", 1},
    ErrcInfo{Errc::InvalidArgument, "invalid-argument", "org.gpuhost1.Error.InvalidArgument", 2},
    ErrcInfo{Errc::NotFound, "not-found", "org.gpuhost1.Error.NotFound", 4},
    ErrcInfo{Errc::AlreadyExists, "already-exists", "org.gpuhost1.Error.AlreadyExists", 5},
    ErrcInfo{Errc::Busy, "busy", "org.gpuhost1.Error.Busy", 6},
    ErrcInfo{Errc::InUse, "in-use", "org.gpuhost1.Error.InUse", 7},
    ErrcInfo{Errc::Refused, "refused", "org.gpuhost1.Error.Refused", 8},
    ErrcInfo{Errc::BadContent, "bad-content", "org.gpuhost1.Error.BadContent", 9},
    ErrcInfo{Errc::Unsupported, "unsupported", "org.gpuhost1.Error.Unsupported", 10},
    ErrcInfo{Errc::NoSpace, "no-space", "org.gpuhost1.Error.NoSpace", 11},
    ErrcInfo{Errc::AccessDenied, "access-denied", "org.gpuhost1.Error.AccessDenied", 12},
    ErrcInfo{Errc::Timeout, "timeout", "org.gpuhost1.Error.Timeout", 13},
    ErrcInfo{Errc::RebootRequired, "reboot-required", "org.gpuhost1.Error.RebootRequired", 14},
    ErrcInfo{Errc::RolledBack, "rolled-back", "org.gpuhost1.Error.RolledBack", 15},
    ErrcInfo{Errc::Cancelled, "cancelled", "org.gpuhost1.Error.Cancelled", 16},
    ErrcInfo{Errc::Interrupted, "interrupted", "org.gpuhost1.Error.Interrupted", 17},
};

template <class Match>
Errc find(Match match) noexcept {
    const auto it = std::find_if(table.begin(), table.end(), match);
    return it == table.end() ? Errc::Failed : it->code;
}

} // namespace

std::span<const ErrcInfo> error_table() noexcept {
    return table;
}

const ErrcInfo& info(Errc code) noexcept {
    const auto it =
        std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.code == code; });
    return it == table.end() ? table.front() : *it;
}

Errc errc_from_name(std::string_view name) noexcept {
    return find([&](const auto& row) { return row.name == name; });
}

Errc errc_from_dbus_name(std::string_view name) noexcept {
    return find([&](const auto& row) { return row.dbus_name == name; });
}

Errc errc_from_errno(int error) noexcept {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return Errc::NotFound;
    case EEXIST:
        return Errc::AlreadyExists;
    case EBUSY:
    case EAGAIN:
    case ETXTBSY:
        return Errc::InUse;
    case EPERM:
    case EACCES:
        return Errc::AccessDenied;
    case ENOSPC:
    case EDQUOT:
        return Errc::NoSpace;
    case EINVAL:
        return Errc::InvalidArgument;
    case EBADMSG:
    case ENOEXEC:
        return Errc::BadContent;
    case ETIMEDOUT:
        return Errc::Timeout;
    default:
        return Errc::Failed;
    }
}

Error Error::context(std::string_view what) const {
    return Error{code, std::string(what) + ": " + message, hint};
}

Error Error::with_hint(std::string text) const {
    return Error{code, message, std::move(text)};
}

Error errno_error(std::string_view what, int error) {
    return Error{errc_from_errno(error), std::string(what) + ": " + std::strerror(error), {}};
}

} // namespace gpuhost::base
