// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/deadline.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

base::Result<Deadline> deadline_of(const Arguments& arguments) {
    const auto text = arguments.value(option::timeout);
    if (!text)
        return Deadline{};
    const auto span = base::parse_span(*text);
    if (!span)
        return base::fail(base::Errc::InvalidArgument, "'" + *text + "' is not a time span",
                          "Write: --timeout=5min.");
    return Deadline{steady_clock::now() + *span};
}

std::optional<milliseconds> time_left(const Deadline& deadline) {
    if (!deadline)
        return std::nullopt;
    return std::max(std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()), milliseconds(0));
}

} // namespace gpuhost::ctl
