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

using base::Json;

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    Json list = devices::list_gpus(devices::read_offer(root), devices::read_answer(root));
    add_pods(list, root);
    const std::string& name = session.arguments().words()[0];
    const Json* gpu = devices::find_gpu(base::member(list, "gpus"), name);
    if (gpu == nullptr)
        return base::fail(base::Errc::NotFound, "GPU '" + name + "' is not offered to the kubelet",
                          "Show what is offered: gpuhostctl gpu list.");
    if (session.wants_json())
        session.print_json(*gpu);
    else
        session.page(render_gpu(session.out(), *gpu, base::string_or(list, "withdrawn", "")));
    return 0;
}

constexpr std::array examples{Example{"gpu show 0", "show the first GPU"},
                              Example{"gpu show 0000:06:00.0 --json", "the facts of a GPU, for programs"}};

} // namespace

const Verb gpu_show_verb{
    "gpu show",
    "GPU",
    "show one GPU, its MIG instances and its health",
    "Shows the facts of a GPU that is offered to the kubelet, its MIG instances, and its health: the reason, "
    "the "
    "time, what ends the fault and what to do. GPU is a UUID, or the PCI address or index of a GPU. Needs no "
    "daemon and no privileges.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
