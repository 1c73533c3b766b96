// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/holders.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/upgrade/options.hpp"
#include "daemon/ctl/upgrade/upgrade.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{peer_option,     fetch_socket_option,    allow_downgrade_option,
                             option::holders, option::holder_timeout, option::dry_run,
                             option::json};

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(holders, holder_options(given));
    GPUHOST_TRY(input, recognize_input(given.words(), given.value(peer_option).value_or("")));
    if (given.has(allow_downgrade_option) && !input.is_bundle())
        return base::fail(base::Errc::InvalidArgument, "--allow-downgrade needs a bundle in a file",
                          "Leave it out.");
    if (given.has(fetch_socket_option) && input.kind != UpgradeInput::Kind::Peer)
        return base::fail(base::Errc::InvalidArgument, "--socket needs --peer", "Leave it out.");
    GPUHOST_TRY(client, session.client());
    Upgrade upgrade(session, *client, std::move(input), std::move(holders));
    return given.has(option::dry_run) ? upgrade.dry_run() : upgrade.run();
}

constexpr std::array examples{
    Example{"upgrade /media/usb/site.bundle", "bring in a bundle and load its driver"},
    Example{"upgrade 550.163.01 --dry-run", "check an upgrade to a version in the store"},
    Example{"upgrade --peer=site", "fetch the bundle from another host of the site"},
};

} // namespace

const Verb upgrade_verb{
    "upgrade",
    "[VERSION] [(FILE|DIRECTORY)…|-]",
    "bring in a driver, build it if needed, and swap to it",
    "Brings this host to a driver version. Imports the input, if any is named: a signed bundle (or its "
    "volumes, or '-' for standard input), driver packages and modules, or directories of them. Then builds "
    "modules for the running kernel if the store has none, swaps to the version, and applies the rest of the "
    "configuration. The version is the named one, else the only one in the input. Without input it is that "
    "of the cluster's policy, else Version= in gpuhostd.conf(5), else the newest in the store. Ends with the "
    "verdict of status. If a part fails, later parts do not run; the same command continues there. With "
    "--dry-run it changes nothing: it checks the import and the first later part that has something to do, "
    "and names the other parts.",
    0,
    100'000, // input_files.hpp has the real limit and reports it with a better error
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
