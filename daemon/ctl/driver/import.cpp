// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/input_files.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

using base::Result;

constexpr std::array options{option::dry_run, option::no_wait, option::json};

client::Request import_request(const std::vector<client::InputFile>& files) {
    return client::request_of(client::driver_call("Import", {files}));
}

/// Imports packages, then modules. Stops at the first operation that fails.
Result<int> import_in_turn(Session& session, const std::vector<std::vector<client::InputFile>>& imports) {
    if (session.arguments().has(option::no_wait))
        return base::fail(base::Errc::InvalidArgument, "packages and modules are imported in two operations",
                          "Leave out --no-wait, or import the packages first, then the modules.");
    base::Json document{{"operations", base::Json::array()}};
    const bool dry_run = session.arguments().has(option::dry_run);
    Result<int> status = 0;
    for (const std::vector<client::InputFile>& files : imports) {
        const client::Request request = import_request(files);
        auto ran = dry_run ? check_request(session, request) : run_request(session, request);
        if (!ran) {
            document["error"] = base::to_json(ran.error());
            status = base::fail(ran.error());
            break;
        }
        status = session.wants_json() ? ran->exit_status() : report(session, *ran);
        document["operations"].push_back(std::move(ran->document));
        if (*status != 0)
            break;
    }
    if (session.wants_json())
        session.print_json(document);
    return status;
}

Result<int> run(Session& session) {
    GPUHOST_TRY(files, find_driver_files(session.arguments().words()));
    GPUHOST_TRY(imports, open_driver_files(files));
    return imports.size() == 1 ? run_operation(session, import_request(imports.front()))
                               : import_in_turn(session, imports);
}

constexpr std::array examples{
    Example{"driver import ./nvidia-550.163.01/", "import all packages in a directory"},
    Example{"driver import NVIDIA-Linux-x86_64-550.163.01.run", "import NVIDIA's installer; it is not run"},
    Example{"driver import /usr/src/nvidia-550.163.01", "import the source of the kernel modules"}};

} // namespace

const Verb driver_import_verb{
    "driver import",
    "(FILE|DIRECTORY)…",
    "import driver packages or built modules into the store",
    "Imports one driver version, or modules for one kernel, into the store. The input is packages of one "
    "version (.deb or .rpm: libraries, tools, firmware, kernel module source) or NVIDIA's installer, which "
    "has all of these (.run). Or it is modules built for one kernel (.ko, also compressed). Name at most 16 "
    "files, or directories of them. Packages and modules together are imported in two operations. A "
    "directory with the source of the modules (/usr/src/nvidia-VERSION) can be imported too. Executes "
    "nothing "
    "from the files, and does not change the running driver.",
    1,
    100'000, // input_files.hpp has the real limit and reports it with a better error
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
