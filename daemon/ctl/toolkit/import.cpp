// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/toolkit_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/input_files.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_package_files(session.arguments().words()));
    return run_operation(session, client::request_of(client::toolkit_call("Import", {files})));
}

constexpr std::array examples{
    Example{"toolkit import nvidia-container-toolkit-base_1.17.8-1_amd64.deb", "import a version"}};

} // namespace

const Verb toolkit_import_verb{
    "toolkit import",
    "FILE…",
    "import NVIDIA's container toolkit into the store",
    "Imports NVIDIA's container toolkit into the store, at most 16 files. These are .deb or .rpm packages of "
    "one version, a tar of these, or a tar of a tree below usr/ whose name states the version. "
    "nvidia-container-toolkit-base alone is enough for the modes cdi and jit-cdi. None of the files is "
    "executed. Nothing that runs changes: 'apply' selects the imported version.",
    1,
    100'000, // input_files.hpp has the real limit and reports it with a better error
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
