// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::ctl {

/// What a verb asks for: an operation, and what that would do.
struct Request {
    Call start; ///< without its options
    Options options;
    Call plan;
};

/// Of an object that has, beside the method, Plan(request, arguments, options): the method's name in small
/// letters, its arguments as words (a file's is its name, empty ones at the end are left out), its options.
[[nodiscard]] Request request_of(Call start, Options options = {});

} // namespace gpuhost::ctl
