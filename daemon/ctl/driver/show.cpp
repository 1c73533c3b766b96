// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::mounted, option::json};

base::Result<int> run(Session& session) {
    const std::string& wanted = session.arguments().words()[0];
    GPUHOST_CHECK(session.use_mounted(true));
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(list, client->ask(client::driver_call("List")));
    for (const base::Json& version : list_of(list, "versions")) {
        if (base::string_or(version, "version", "") != wanted)
            continue;
        if (session.wants_json()) {
            session.print_json(version);
            return 0;
        }
        GPUHOST_TRY(loaded, client->read_text(client::driver_call("LoadedVersion")));
        session.page(render_driver(session.out(), list, version, loaded));
        return 0;
    }
    return base::fail(base::Errc::NotFound, "driver " + wanted + " is not in the store",
                      "List them: gpuhostctl driver list.");
}

constexpr std::array examples{Example{"driver show 550.163.01", "show the files of one version"}};

} // namespace

const Verb driver_show_verb{
    "driver show",
    "VERSION",
    "show the files of one version in the store",
    "Shows the libraries, firmware, modules and source of one version, and their paths.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
