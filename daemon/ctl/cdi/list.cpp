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
    GPUHOST_TRY(root, given_root(session.arguments()));
    const base::Json list = runtime::list_devices(runtime::read_spec_files(root));
    if (session.wants_json())
        session.print_json(list);
    else
        session.page_list(render_cdi_devices(session.out(), list),
                          "No CDI devices. Write their specifications: gpuhostctl apply --only cdi.");
    return 0;
}

constexpr std::array examples{Example{"cdi list", "show the devices that containers can ask for"}};

} // namespace

const Verb cdi_list_verb{
    "cdi list",
    "",
    "list the devices that containers can ask for",
    "Lists the devices that containers can ask for, from all files in /etc/cdi and /run/cdi, also those of "
    "other programs. Shows for each device its file, the driver of its libraries, and whether another file "
    "has the same name. Problems of files are printed below the list. Needs no daemon and no privileges.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
