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

/// Builds both calls. The object of `start` must also have the method Plan(request, arguments, options).
/// Plan's `request` is the name of the method of `start` in lower case. Both methods get the same `options`.
/// Plan's `arguments` are those of `start` as strings: a file becomes its name, and empty strings at the end
/// are dropped.
[[nodiscard]] Request request_of(Call start, Options options = {});

} // namespace gpuhost::client
