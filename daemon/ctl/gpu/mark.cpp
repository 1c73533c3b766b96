// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/devices_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/gpu/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option reason_option{"reason", "TEXT", "why the device is not used, one line; required"};
constexpr std::array options{reason_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    client::Options with;
    with["reason"] = session.arguments().value(reason_option).value_or("");
    return run_operation(
        session, client::request_of(client::devices_call("Mark", {session.arguments().words()[0]}), with));
}

constexpr std::array examples{
    Example{"gpu mark 3 --reason='fails the burn-in test'", "give GPU 3 to no further pod"},
    Example{"gpu mark 0000:06:00.0 --reason='RMA 4711'", "the same, by its PCI address"}};

} // namespace

const Verb gpu_mark_verb{
    "gpu mark",
    "GPU",
    "give a GPU or MIG instance to no further pod",
    "Marks a device as unhealthy for the kubelet, with a reason. Pods that have it keep running. The mark "
    "lasts "
    "over swaps of the driver and restarts of the host, until 'gpu clear' removes it. GPU is the UUID of a "
    "GPU "
    "or of a MIG instance, or the PCI address or index of a GPU, as 'gpu list' shows them.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
