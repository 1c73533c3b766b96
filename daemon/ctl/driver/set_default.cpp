// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option kernel_option{"kernel", "RELEASE", "only this kernel", false, true};
constexpr std::array set_default_options{kernel_option, option::mounted, option::dry_run, option::no_wait,
                                         option::json};
constexpr std::array release_options{option::mounted, option::dry_run, option::no_wait, option::json};

base::Result<int> set_default(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_CHECK(session.use_mounted(given.has(option::dry_run)));
    const std::string version = given.words().empty() ? std::string() : given.words()[0];
    return run_operation(
        session, client::request_of(client::driver_call("Select", {version, given.values(kernel_option)})));
}

base::Result<int> release(Session& session) {
    GPUHOST_CHECK(session.use_mounted(session.arguments().has(option::dry_run)));
    return run_operation(session, client::request_of(client::driver_call("Deselect")));
}

constexpr std::array set_default_examples{
    Example{"driver set-default 550.163.01", "let the other installed kernels boot with this version"},
    Example{"driver set-default 535.261.03 --root=/mnt", "repair a mounted system that does not boot"}};
constexpr std::array release_examples{
    Example{"driver release", "let the host boot without a driver of gpuhostd"}};

} // namespace

const Verb driver_set_default_verb{
    "driver set-default",
    "[VERSION]",
    "set the driver version that other installed kernels boot with",
    "Sets the version, by default the one in use, that installed kernels other than the running one boot "
    "with. Changes nothing that runs; use 'driver swap' for that. The version needs modules for each of "
    "these kernels; 'driver prepare' builds them too. With --root it applies to all kernels of the mounted "
    "system, to repair one that does not boot.",
    0,
    1,
    set_default_options,
    set_default,
    set_default_examples,
};

const Verb driver_release_verb{
    "driver release",
    "",
    "clear the driver selection of all kernels",
    "Clears the selection of all kernels: the next boot uses another installed driver, or none. No module is "
    "unloaded, programs no longer find the driver's libraries, and the store keeps all its versions. With "
    "--root it applies to the mounted system.",
    0,
    0,
    release_options,
    release,
    release_examples,
};

} // namespace gpuhost::ctl
