// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/status.hpp"

#include "daemon/base/hex.hpp"

#include <array>
#include <cstdint>

namespace gpuhost::rpc {

using base::Errc;

namespace {

constexpr std::size_t longest_message = 4096;
/// Printable ASCII without '%' and without RFC 3986's unreserved characters.
constexpr std::string_view printable = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}";

Code code_of(Errc code) {
    switch (code) {
    case Errc::InvalidArgument:
        return Code::InvalidArgument;
    case Errc::NotFound:
        return Code::NotFound;
    case Errc::AlreadyExists:
        return Code::AlreadyExists;
    case Errc::Busy:
        return Code::Unavailable;
    case Errc::InUse:
    case Errc::Refused:
    case Errc::RebootRequired:
        return Code::FailedPrecondition;
    case Errc::BadContent:
        return Code::DataLoss;
    case Errc::Unsupported:
        return Code::Unimplemented;
    case Errc::NoSpace:
        return Code::ResourceExhausted;
    case Errc::AccessDenied:
        return Code::PermissionDenied;
    case Errc::Timeout:
        return Code::DeadlineExceeded;
    case Errc::RolledBack:
    case Errc::Interrupted:
        return Code::Aborted;
    case Errc::Cancelled:
        return Code::Cancelled;
    case Errc::Failed:
        break;
    }
    return Code::Internal;
}

Errc errc_of(Code code) {
    switch (code) {
    case Code::Cancelled:
        return Errc::Cancelled;
    case Code::InvalidArgument:
    case Code::OutOfRange:
        return Errc::InvalidArgument;
    case Code::DeadlineExceeded:
        return Errc::Timeout;
    case Code::NotFound:
        return Errc::NotFound;
    case Code::AlreadyExists:
        return Errc::AlreadyExists;
    case Code::PermissionDenied:
    case Code::Unauthenticated:
        return Errc::AccessDenied;
    case Code::ResourceExhausted: // of a quota or a rate limit
    case Code::Unavailable:
        return Errc::Busy;
    case Code::FailedPrecondition:
        return Errc::Refused;
    case Code::Aborted:
        return Errc::Interrupted;
    case Code::Unimplemented:
        return Errc::Unsupported;
    case Code::DataLoss:
        return Errc::BadContent;
    default:
        return Errc::Failed;
    }
}

std::string_view cut(std::string_view text) {
    if (text.size() <= longest_message)
        return text;
    std::size_t end = longest_message;
    while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80U) // inside of a character
        --end;
    return text.substr(0, end);
}

int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

} // namespace

Status status_of(const base::Error& error) {
    return {code_of(error.code), error.hint.empty() ? error.message : error.message + ". " + error.hint};
}

base::Error error_of(const Status& status) {
    const std::string number = "status " + std::to_string(static_cast<unsigned>(status.code));
    return {errc_of(status.code), status.message.empty() ? number : status.message, {}};
}

std::string encode_message(std::string_view text) {
    return base::percent_encoded(cut(text), printable);
}

std::string decode_message(std::string_view header) {
    std::string text;
    for (std::size_t i = 0; i < header.size(); ++i) {
        const int high = header[i] == '%' && i + 2 < header.size() ? digit(header[i + 1]) : -1;
        const int low = high < 0 ? -1 : digit(header[i + 2]);
        if (low < 0) {
            text += header[i];
            continue;
        }
        text += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return text;
}

} // namespace gpuhost::rpc
