// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/runtime/wanted.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"
#include "daemon/ctl/toolkit/view.hpp"
#include "daemon/runtime/toolkit/documents.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const base::Json document =
        runtime::toolkit_document(root, runtime::toolkit_settings(wanted_of_runtimes(root)));
    if (session.wants_json())
        session.print_json(document);
    else
        session.page(render_toolkit(session.out(), document));
    return 0;
}

constexpr std::array examples{Example{"toolkit show", "show the toolkit in use, and its options"}};

} // namespace

const Verb toolkit_show_verb{
    "toolkit show",
    "",
    "show the container toolkit in use",
    "Shows the toolkit in use: its version, packages and programs, the mode, and the author of the "
    "config.toml that runtimes read. If gpuhost did not write that file, the options that differ are shown. "
    "Changes nothing; needs no daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
