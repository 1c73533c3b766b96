// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/dashboard/frame.hpp"
#include "daemon/ctl/dashboard/loop.hpp"
#include "daemon/ctl/dashboard/source.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

#include <unistd.h>

namespace gpuhost::ctl {
namespace {

constexpr Option once_option{"once", "", "print the content once as text, for scripts"};
constexpr std::array options{once_option, root_option};

base::Result<int> print_once(Session& session, const base::Root& root) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(runs, client->running());
    if (!runs)
        return base::fail(client::not_running());
    GPUHOST_TRY(documents, dashboard::read_once(*client, root));
    session.page(dashboard::plain_text(documents, session.out()));
    return dashboard::verdict_of(documents).ok ? 0 : not_ok_exit_status;
}

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const bool interactive = session.out().terminal && ::isatty(STDIN_FILENO) == 1;
    if (session.arguments().has(once_option) || !interactive)
        return print_once(session, root);
    return dashboard::run(root, session.out().colour);
}

constexpr std::array examples{Example{"dashboard", "show this host until q is pressed"},
                              Example{"dashboard --once", "print the same once, for a ticket"}};

} // namespace

const Verb dashboard_verb{
    "dashboard",
    "",
    "show this host, its GPUs and the running operation live",
    "Shows a live screen: the verdict of status, the host, its GPUs, the driver, the running operation with "
    "its steps, container runtimes, bundles, the cluster, and the last operations. The arrow keys and Tab "
    "move, Enter opens the selected item, ? shows all keys, q quits. Needs a terminal with at least 80 "
    "columns and 24 rows. Changes nothing. With --once, or without a terminal, prints the same content as "
    "text and exits with the exit status of status.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
