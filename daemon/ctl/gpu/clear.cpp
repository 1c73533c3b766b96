// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/devices_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/gpu/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session,
                         client::request_of(client::devices_call("Clear", {session.arguments().words()[0]})));
}

constexpr std::array examples{Example{"gpu clear 3", "give GPU 3 to pods again"}};

} // namespace

const Verb gpu_clear_verb{
    "gpu clear",
    "GPU",
    "give a GPU or MIG instance to pods again",
    "Removes the mark of 'gpu mark', and ends the faults that the device had until now. A later error of the "
    "driver makes it unhealthy again. The clear of a GPU also ends faults of its MIG instances. GPU is a "
    "UUID, "
    "or the PCI address or index of a GPU.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
