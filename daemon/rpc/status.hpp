// SPDX-License-Identifier: Apache-2.0
// The result of a gRPC call: a status code and a text for a person.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::rpc {

/// gRPC's status codes; the numbers are part of its protocol.
enum class Code : unsigned {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
};

struct Status {
    Code code = Code::Ok;
    std::string message;

    [[nodiscard]] bool ok() const { return code == Code::Ok; }
};

/// Returns the status that reports `error` to a client. The message ends with the error's hint.
[[nodiscard]] Status status_of(const base::Error& error);
/// Returns the error for a status that a server has sent. `code` may be a number without a name.
[[nodiscard]] base::Error error_of(const Status& status);

/// Encodes a text as header grpc-message: bytes outside of printable ASCII, and '%', become "%XX". Longer
/// texts are cut after 4096 bytes, at the end of a UTF-8 character.
[[nodiscard]] std::string encode_message(std::string_view text);
/// Decodes a header grpc-message. Leaves an incomplete "%X" as it is, as the specification demands.
[[nodiscard]] std::string decode_message(std::string_view header);

} // namespace gpuhost::rpc
