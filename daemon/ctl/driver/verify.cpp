// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    const std::vector<std::string>& words = session.arguments().words();
    const std::string version = words.empty() ? "" : words[0];
    return run_operation(session, client::request_of(client::driver_call("Verify", {version})));
}

constexpr std::array examples{Example{"driver verify", "compare all versions with their digests"},
                              Example{"driver verify 550.163.01", "compare one version only"}};

} // namespace

const Verb driver_verify_verb{
    "driver verify",
    "[VERSION]",
    "compare the files in the store with their digests",
    "Reads every file of one version, or of all, and compares it with its digest.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
