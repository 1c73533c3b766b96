// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option kernel_option{"kernel", "RELEASE", "only this kernel", false, true};
constexpr std::array select_options{kernel_option, option::mounted, option::dry_run, option::no_wait,
                                    option::json};
constexpr std::array deselect_options{option::mounted, option::dry_run, option::no_wait, option::json};

base::Result<int> select(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_CHECK(session.use_mounted(given.has(option::dry_run)));
    const std::string version = given.words().empty() ? std::string() : given.words()[0];
    return run_operation(
        session, client::request_of(client::driver_call("Select", {version, given.values(kernel_option)})));
}

base::Result<int> deselect(Session& session) {
    GPUHOST_CHECK(session.use_mounted(session.arguments().has(option::dry_run)));
    return run_operation(session, client::request_of(client::driver_call("Deselect")));
}

} // namespace

const Verb driver_select_verb{
    "driver select",
    "[VERSION]",
    "have kernels that do not run boot a version",
    "Makes VERSION, or the one in use, what installed kernels other than the running one boot. What runs "
    "stays as it is: to change that, swap. The version needs modules for each of these kernels; 'driver "
    "prepare' builds them too. With --root it is of all kernels of a system that is mounted there, to mend "
    "one that does not come up.",
    0,
    1,
    select_options,
    select,
};

const Verb driver_deselect_verb{
    "driver deselect",
    "",
    "have no kernel boot a driver of gpuhostd's",
    "Takes out what leads this host's kernels to the driver store, so that the next boot takes whatever "
    "driver is installed otherwise, or none. No module is unloaded, and the store keeps all its versions. "
    "With --root the host is the system that is mounted there.",
    0,
    0,
    deselect_options,
    deselect,
};

} // namespace gpuhost::ctl
