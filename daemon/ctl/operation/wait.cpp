// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/operation/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(id, chosen_operation(session));
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    return finish_operation(session, id);
}

constexpr std::array examples{Example{"operation wait 7", "follow operation 7 to its end"}};

} // namespace

const Verb operation_wait_verb{
    "operation wait",
    "[ID]",
    "wait for the end of an operation",
    "Follows an operation, by default the newest, to its end. Exits like the verb that started it.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
