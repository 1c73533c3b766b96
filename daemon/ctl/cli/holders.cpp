// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/holders.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::ctl {

base::Result<client::Options> holder_options(const Arguments& arguments) {
    client::Options options;
    if (const auto policy = arguments.value(option::holders))
        options["holders"] = *policy;
    if (const auto text = arguments.value(option::holder_timeout)) {
        const auto span = base::parse_span(*text);
        if (!span)
            return base::fail(base::Errc::InvalidArgument, "'" + *text + "' is not a time span",
                              "Write: --holder-timeout=5min.");
        options["holder-timeout-usec"] = static_cast<std::uint64_t>(span->count()) * 1000;
    }
    return options;
}

} // namespace gpuhost::ctl
