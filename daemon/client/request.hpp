// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"

namespace gpuhost::client {

/// A request of a verb of gpuhostctl: the call that starts the operation, and the call that returns its plan.
struct Request {
    Call start; ///< the call without its last argument, `options`
    Options options;
    Call plan;
};

/// Builds both calls for an object that has Plan(request, arguments, options) beside the method of `start`.
/// Plan's `request` is that method's name in lower case, and its `options` are the same. Plan's `arguments`
/// are those of `start` as strings: a file becomes its name, and empty strings at the end are dropped.
[[nodiscard]] Request request_of(Call start, Options options = {});

} // namespace gpuhost::client
