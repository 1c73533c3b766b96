// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/secure_boot/enrolment.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    return print_enrolment(session, root, signing_files(root), false);
}

constexpr std::array examples{
    Example{"secure-boot show-enrolment", "show the commands that enrol the key on this host"}};

} // namespace

const Verb secure_boot_show_enrolment_verb{
    "secure-boot show-enrolment",
    "",
    "print how to enrol the site's key with the kernel",
    "Prints how to enrol the key that signs this site's modules with the kernel: the mokutil(1) command, and "
    "the steps at the console at the next boot. Changes nothing and needs no daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
