// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// A verb's request: the call that starts the operation, and the call that returns its plan.
struct Request {
    Call start; ///< without `options`
    Options options;
    Call plan;
};

/// Builds both calls, for an object that has Plan(request, arguments, options) beside the method. `request`
/// is the method's name in lower case, `options` are its options. `arguments` are its arguments as words: a
/// file's is its name; trailing empty ones are dropped.
[[nodiscard]] Request request_of(Call start, Options options = {});

} // namespace gpuhost::client
