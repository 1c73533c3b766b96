// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"
#include "daemon/ctl/secure_boot/view.hpp"
#include "kmod/trust/secure_boot.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    // Mistakes in the files are not reported here, because gpuhostd and 'reload' report them.
    const core::Settings settings = core::load_settings(root, {kmod::driver_setting_keys()}).settings;
    GPUHOST_TRY(boot, kmod::read_secure_boot(root, kmod::driver_settings(settings)));
    const base::Json status = kmod::to_json(boot);
    if (session.wants_json())
        session.print_json(status);
    else
        session.page(render_secure_boot(session.out(), status));
    return 0;
}

constexpr std::array examples{Example{
    "secure-boot status", "show what the kernel requires, its keys, and which drivers it would load"}};

} // namespace

const Verb secure_boot_status_verb{
    "secure-boot status",
    "",
    "show which modules the kernel accepts, and its keys",
    "Shows whether the kernel accepts signed modules only and why, its keys and their keyrings, and whether "
    "it has the site's own key. Also shows whether it would accept the drivers in the store: for each "
    "version, the modules that a swap would load. Changes nothing and needs no daemon. The kernel shows its "
    "keyrings to root only.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
