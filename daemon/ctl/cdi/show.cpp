// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cdi/view.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(device, runtime::show_device(runtime::read_spec_files(root), given.words().front()));
    if (session.wants_json())
        session.print_json(device);
    else
        session.page(render_cdi_device(session.out(), device));
    return 0;
}

constexpr std::array examples{
    Example{"cdi show nvidia.com/gpu=0", "show what a container with the first GPU gets"}};

} // namespace

const Verb cdi_show_verb{
    "cdi show",
    "DEVICE",
    "show what a container gets that asks for a device",
    "Shows what a container gets that asks for this device, by its full name such as 'nvidia.com/gpu=0': "
    "device nodes, mounts, variables, groups and hooks. Also shows which of these are not on the host. Needs "
    "no daemon and no privileges.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
