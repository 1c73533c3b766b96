// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. std::expected needs C++23; until then tl::expected has the same interface.
#pragma once

#include "daemon/base/error.hpp"

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace gpuhost::base {

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string message, std::string hint = {}) {
    return fail(Error{code, std::move(message), std::move(hint)});
}

/// Fails with `error`, the errno of a call.
[[nodiscard]] inline tl::unexpected<Error> fail_errno(std::string_view what, int error) {
    return fail(errno_error(what, error));
}

} // namespace gpuhost::base

/// `GPUHOST_TRY(content, read(path));` declares `content`, or returns the error to the caller.
#define GPUHOST_TRY(var, ...)                                                                                \
    auto var##_result = (__VA_ARGS__);                                                                       \
    if (!var##_result)                                                                                       \
        return ::gpuhost::base::fail(std::move(var##_result).error());                                       \
    auto& var = *var##_result

/// Evaluates a Result<void>; if it is an error, returns the error to the caller.
#define GPUHOST_CHECK(...)                                                                                   \
    do {                                                                                                     \
        if (auto gpuhost_check = (__VA_ARGS__); !gpuhost_check)                                              \
            return ::gpuhost::base::fail(std::move(gpuhost_check).error());                                  \
    } while (false)
