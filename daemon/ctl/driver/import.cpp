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

constexpr std::array examples{
    Example{"driver import ./nvidia-550.163.01/", "import all packages in a directory"},
    Example{"driver import NVIDIA-Linux-x86_64-550.163.01.run", "import NVIDIA's installer; it is not run"},
    Example{"driver import /usr/src/nvidia-550.163.01", "import the source of the kernel modules"}};

} // namespace

const Verb driver_import_verb{
    "driver import",
    "FILE…|DIRECTORY",
    "import driver packages or built modules into the store",
    "Imports one driver version, or modules for one kernel, into the store. The input is packages of one "
    "version (.deb or .rpm: libraries, tools, firmware, kernel module source) or NVIDIA's installer, which "
    "has all of these (.run). Or it is modules built for one kernel (.ko, also compressed). Name at most 16 "
    "files, or one directory of them. A directory with the source of the modules (/usr/src/nvidia-VERSION) "
    "can be imported too. Executes nothing from the files, and does not change the running driver.",
    1,
    100'000, // input_files.hpp has the real limit and reports it with a better error
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
