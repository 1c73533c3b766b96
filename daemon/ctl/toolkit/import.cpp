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

} // namespace

const Verb toolkit_import_verb{
    "toolkit import",
    "FILE…",
    "bring NVIDIA's container toolkit into the store",
    "Takes the packages of one version, .deb or .rpm, or a tar of these or of their files, at most 16. Of "
    "these nvidia-container-toolkit-base is enough for the modes cdi and jit-cdi. Nothing in them is "
    "executed, and nothing that runs changes: apply selects what came in.",
    1,
    100'000, // input_files.hpp has the real limit, with its own error
    options,
    run,
};

} // namespace gpuhost::ctl
