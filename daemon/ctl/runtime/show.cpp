// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/runtime/view.hpp"
#include "daemon/runtime/inspect/documents.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    base::Json document;
    const auto& names = session.arguments().words();
    if (names.empty()) {
        document = runtime::list_runtimes(runtime::read_runtimes(root));
    } else {
        GPUHOST_TRY(state, runtime::read_runtime_named(root, names.front()));
        document = runtime::show_runtime(state);
    }
    if (session.wants_json())
        session.print_json(document);
    else
        session.page_list(names.empty() ? render_runtimes(session.out(), document)
                                        : render_runtime(session.out(), document),
                          "No container runtimes.");
    return 0;
}

constexpr std::array examples{Example{"runtime show", "show all container runtimes and what is left to do"},
                              Example{"runtime show containerd", "show one of them in full"}};

} // namespace

const Verb runtime_show_verb{
    "runtime show",
    "[NAME]",
    "show container runtimes and how their containers get GPUs",
    "Shows the container runtimes of this host and how their containers get GPUs; with NAME one of them in "
    "full. Runtimes are found by their services, processes and sockets. The last sentence states what is "
    "left to do. Changes nothing; needs no daemon, and root to see all.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
