// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs that change the configuration of container runtimes.
#pragma once

#include "daemon/client/request.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

inline constexpr Option no_restart_option{"no-restart", "",
                                          "do not restart running runtimes; status lists those to restart"};

/// Returns a request to org.gpuhost1.Runtime for the runtimes that the command line names, or for all.
[[nodiscard]] inline client::Request runtime_request(std::string method, const Arguments& given) {
    client::Options options;
    if (given.has(no_restart_option))
        options["no-restart"] = true;
    return client::request_of(
        {"/org/gpuhost1/runtime", "org.gpuhost1.Runtime", std::move(method), {given.words()}},
        std::move(options));
}

} // namespace gpuhost::ctl
