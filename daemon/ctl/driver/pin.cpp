// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "kmod/driver_settings.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Result;

namespace {

using Versions = std::vector<std::string>;
constexpr std::array options{root_option};

Result<void> add(Versions& pins, const std::string& version) {
    if (!base::is_driver_version(version))
        return base::fail(base::Errc::InvalidArgument,
                          "'" + version + "' is not a driver version such as '550.163.01'");
    if (std::find(pins.begin(), pins.end(), version) == pins.end())
        pins.push_back(version);
    return {};
}

Result<void> unpin(Versions& pins, const std::string& version) {
    if (std::erase(pins, version) == 0)
        return base::fail(base::Errc::NotFound, "'" + version + "' is not pinned",
                          "Pinned: " + (pins.empty() ? "nothing" : base::join(pins, ", ")) + ".");
    return {};
}

/// Reloads gpuhostd if it runs. Otherwise gpuhostd reads the files at its next start.
Result<void> reload_daemon(Session& session) {
    GPUHOST_TRY(client, session.client());
    const auto runs = client->running();
    if (!runs || !*runs)
        return {};
    const PasswordAgent agent(session);
    GPUHOST_CHECK(client->reload());
    return {};
}

/// Changes all of the named pins, or none after an error.
template <Result<void> (*change)(Versions&, const std::string&)>
Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    Versions pins = core::read_list(root, kmod::driver_setting_keys(), kmod::driver_pins);
    for (const std::string& version : session.arguments().words())
        GPUHOST_CHECK(change(pins, version));
    GPUHOST_CHECK(core::write_list(root, kmod::driver_setting_keys(), kmod::driver_pins, pins));
    if (root.is_host())
        GPUHOST_CHECK(reload_daemon(session));
    session.print(fit(session.out(),
                      pins.empty() ? "No driver is pinned.\n" : "Pinned: " + base::join(pins, ", ") + "\n"));
    return 0;
}

constexpr std::array pin_examples{
    Example{"driver pin 550.163.01", "keep this version when the store is cleaned"}};
constexpr std::array unpin_examples{Example{"driver unpin 550.163.01", "no longer keep it"}};

} // namespace

const Verb driver_pin_verb{
    "driver pin",
    "VERSION…",
    "keep versions in the store",
    "Keeps versions in the store: adds them to Pin= in section [Driver] of gpuhostd.conf(5). Neither 'driver "
    "clean' nor 'driver remove' removes them. A version may be pinned before it is imported.",
    1,
    100,
    options,
    run<add>,
    pin_examples,
};

const Verb driver_unpin_verb{
    "driver unpin",
    "VERSION…",
    "no longer keep versions in the store",
    "Removes versions from Pin= in section [Driver] of gpuhostd.conf(5). They stay in the store until "
    "'driver clean' or 'driver remove' removes them.",
    1,
    100,
    options,
    run<unpin>,
    unpin_examples,
};

} // namespace gpuhost::ctl
