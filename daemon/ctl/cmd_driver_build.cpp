// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/follow.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option kernel_option{"kernel", "RELEASE", "build for this kernel instead of the running one", false,
                               true};
constexpr Option again_option{"again", "", "also where the store has these modules, as to mend damaged ones"};
constexpr std::array options{kernel_option, again_option, option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    const std::string& version = session.arguments().words()[0];
    const std::vector<std::string> kernels = session.arguments().values(kernel_option);
    const Options again = session.arguments().has(again_option) ? Options{{"again", true}} : Options{};
    std::vector<std::string> arguments{version};
    arguments.insert(arguments.end(), kernels.begin(), kernels.end());
    return run_operation(session,
                         {[&](Client& client) { return client.build(version, kernels, again); },
                          [&](Client& client) { return client.plan_driver("build", arguments, again); }});
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
