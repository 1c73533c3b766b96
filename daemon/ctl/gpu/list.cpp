// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/gpu/pods.hpp"
#include "daemon/ctl/gpu/verbs.hpp"
#include "daemon/ctl/gpu/view.hpp"
#include "daemon/devices/publish/documents.hpp"
#include "daemon/devices/publish/offer_files.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    base::Json list = devices::list_gpus(devices::read_offer(root), devices::read_answer(root));
    add_pods(list, root);
    if (session.wants_json())
        session.print_json(list);
    else
        session.page_list(
            render_gpus(session.out(), list),
            "No GPUs are offered to the kubelet. Offer them: set Serve=plugin in section [Devices] "
            "of gpuhostd.conf, then: gpuhostctl reload and gpuhostctl apply.");
    return 0;
}

constexpr std::array examples{Example{"gpu list", "show the GPUs that the kubelet gets"}};

} // namespace

const Verb gpu_list_verb{
    "gpu list",
    "",
    "list the GPUs that are offered to the kubelet",
    "Lists the GPUs and MIG instances that gpuhostd offers to the kubelet, with the resource by which pods "
    "request them, and whether the kubelet is connected. Reasons why devices are missing or withdrawn are "
    "printed below the list. Needs no daemon and no privileges.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
