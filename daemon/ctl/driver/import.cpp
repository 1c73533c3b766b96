// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/input_files.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_input_files(session.arguments().words()));
    return run_operation(session, client::request_of(client::driver_call("Import", {files})));
}

} // namespace

const Verb driver_import_verb{
    "driver import",
    "FILE…|DIRECTORY",
    "bring driver packages or built modules into the store",
    "Takes the packages of one driver version (.deb or .rpm files: libraries, tools, firmware, kernel module "
    "source), NVIDIA's installer, which has all of that (.run), or the modules built for one kernel (.ko "
    "files, also packed), or a directory of either, at "
    "most 16 files, or the directory of a source (/usr/src/nvidia-VERSION). Nothing in them is executed, and "
    "nothing that runs changes.",
    1,
    100'000, // input_files.hpp has the real limit, with its own error
    options,
    run,
};

} // namespace gpuhost::ctl
