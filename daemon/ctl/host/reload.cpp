// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    const PasswordAgent agent(session);
    GPUHOST_TRY(problems, client->reload());
    if (problems.empty())
        return 0;
    session.warn("gpuhostctl: the configuration was read again with " +
                 plural(problems.size(), "problem", "problems") +
                 "; invalid assignments keep their old values:\n");
    for (const std::string& problem : problems)
        session.warn("  " + printable(problem) + "\n");
    return base::info(base::Errc::BadContent).exit_code;
}

constexpr std::array examples{Example{"reload", "read the configuration again after a change of it"}};

} // namespace

const Verb reload_verb{
    "reload",
    "",
    "make the daemon read its configuration again",
    "Makes the daemon read its configuration again, and gpuhost-cluster its section [Cluster]. Invalid "
    "assignments are printed and keep their old values; the exit status is then 9.",
    0,
    0,
    {},
    run,
    examples,
};

} // namespace gpuhost::ctl
