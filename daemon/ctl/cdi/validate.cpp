// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cdi/view.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

/// Returns the files with these names; without names, all files that container runtimes read.
std::vector<runtime::SpecFile> chosen_files(const base::Root& root, const std::vector<std::string>& names) {
    if (names.empty())
        return runtime::read_spec_files(root);
    std::vector<runtime::SpecFile> files;
    for (const std::string& name : names) {
        files.push_back(
            runtime::check_spec_file(root, name, read_small_file(name, base::Root::default_limit)));
        files.back().directory = files.size(); // a directory of its own: named files never conflict
    }
    return files;
}

bool is_bad(const base::Json& file) {
    return !list_of(file, "problems").empty() || !list_of(file, "stale").empty();
}

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    const base::Json checked = runtime::check_files(chosen_files(root, given.words()));
    if (session.wants_json())
        session.print_json(checked);
    else
        session.page(render_cdi_files(session.out(), checked));
    const base::Json& files = list_of(checked, "files");
    return std::any_of(files.begin(), files.end(), is_bad) ? base::info(base::Errc::BadContent).exit_code : 0;
}

constexpr std::array examples{Example{"cdi validate", "check all specifications on this host"},
                              Example{"cdi validate /etc/cdi/nvidia.json", "check one file"}};

} // namespace

const Verb cdi_validate_verb{
    "cdi validate",
    "[FILE…]",
    "check specifications against CDI's rules and against the host",
    "Checks files, or all in /etc/cdi and /run/cdi. Checks them as runtimes do, and against the host: their "
    "paths, the numbers of device nodes, and the loaded driver. The exit status is 9 if anything is wrong. "
    "Needs no daemon and no privileges.",
    0,
    1000,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
