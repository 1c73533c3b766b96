// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/host/verbs.hpp"

namespace gpuhost::ctl {
namespace {

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    const PasswordAgent agent(session);
    GPUHOST_TRY(problems, client->reload());
    if (problems.empty())
        return 0;
    session.note("gpuhostctl: the configuration was read again, with " +
                 plural(problems.size(), "problem", "problems") + "; what they concern stays as it was:\n");
    for (const std::string& problem : problems)
        session.note("  " + printable(problem) + "\n");
    return base::info(base::Errc::BadContent).exit_code;
}

} // namespace

const Verb reload_verb{
    "reload",
    "",
    "read the configuration again",
    "Makes the daemon read its configuration files again. What is wrong in them is printed and leaves the "
    "value that stood before; the exit status then says so.",
    0,
    0,
    {},
    run,
};

} // namespace gpuhost::ctl
