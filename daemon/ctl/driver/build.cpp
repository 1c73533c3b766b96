// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option kernel_option{"kernel", "RELEASE", "build for this kernel instead of the running one", false,
                               true};
constexpr Option again_option{
    "again", "", "also compile modules that are already in the store, which repairs damaged ones"};
constexpr Option all_kernels_option{"all-kernels", "",
                                    "build for every installed kernel that has its headers"};
constexpr std::array options{kernel_option,   all_kernels_option, again_option,
                             option::dry_run, option::no_wait,    option::json};

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    client::Options chosen;
    if (given.has(again_option))
        chosen["again"] = true;
    if (given.has(all_kernels_option))
        chosen["all-kernels"] = true;
    const std::string version = given.words().empty() ? std::string() : given.words()[0];
    return run_operation(
        session,
        client::request_of(client::driver_call("Build", {version, given.values(kernel_option)}), chosen));
}

constexpr std::array examples{
    Example{"driver build 550.163.01", "build the modules for the running kernel"},
    Example{"driver build 550.163.01 --all-kernels", "build them for every kernel that has its headers"}};

} // namespace

const Verb driver_build_verb{
    "driver build",
    "[VERSION]",
    "compile the kernel modules of a version",
    "Compiles the kernel modules of an imported version, or of the version in use, against installed kernel "
    "headers. The compiler runs without network and without privileges. The modules are added to the store, "
    "and signed if SigningKey= in gpuhostd.conf(5) is set. If the compiler fails, the first error for each "
    "kernel is shown and no build is kept.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
