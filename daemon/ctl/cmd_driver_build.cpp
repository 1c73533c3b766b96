// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/driver_call.hpp"
#include "daemon/ctl/follow.hpp"
#include "daemon/ctl/verbs_driver.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option kernel_option{"kernel", "RELEASE", "build for this kernel instead of the running one", false,
                               true};
constexpr Option again_option{"again", "", "also where the store has these modules, as to mend damaged ones"};
constexpr std::array options{kernel_option, again_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    const Options again = given.has(again_option) ? Options{{"again", true}} : Options{};
    const Call build = driver_call("Build", {given.words()[0], given.values(kernel_option)});
    return run_operation(session, request_of(build, again));
}

} // namespace

const Verb driver_build_verb{
    "driver build",
    "VERSION",
    "compile a version's modules for a kernel",
    "Compiles the kernel modules of an imported version against installed kernel headers, without network "
    "and without privileges, and puts them into the store.",
    1,
    1,
    options,
    run,
};

} // namespace gpuhost::ctl
