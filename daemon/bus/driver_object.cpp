// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/driver_object.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::bus {

namespace {

using base::Errc;
using base::Json;
using base::Result;

constexpr std::array plain_options{dry_run_option};
constexpr std::array import_options{dry_run_option, Option{"version", 's'}};
constexpr std::array build_options{dry_run_option, Option{"again", 'b'}, Option{"all-kernels", 'b'}};
constexpr std::array swap_options{dry_run_option, Option{"holders", 's'}, Option{"holder-timeout-usec", 't'}};

constexpr std::size_t most_waiting = 16; ///< most calls of Holders that may wait

constexpr std::array requests{
    Request{"import", action_prepare, import_options, "", "files", 1},
    Request{"build", action_prepare, build_options, "version", "kernels"},
    Request{"verify", action_prepare, plain_options, "version"},
    Request{"remove", action_remove, plain_options, "version", "", 1},
    Request{"clean", action_remove, plain_options},
    Request{"select", action_apply, plain_options, "version", "kernels"},
    Request{"deselect", action_apply, plain_options},
    Request{"swap", action_apply, swap_options, "version", "", 0, cluster_user},
    Request{"rollback", action_apply, swap_options},
};

} // namespace

const sd_bus_vtable DriverObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("LoadedVersion", "s", property<&DriverObject::loaded_version>, 0,
                    SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("SelectedVersion", "s", property<&DriverObject::selected_version>, 0,
                    SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_METHOD_WITH_NAMES("List", "", , "s", SD_BUS_PARAM(json), method<&DriverObject::list>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("History", "", , "s", SD_BUS_PARAM(json), method<&DriverObject::history>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Holders", "", , "s", SD_BUS_PARAM(json), method<&DriverObject::holders>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&DriverObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Import", "a(sh)a{sv}", SD_BUS_PARAM(files) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::import>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Build", "sasa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(kernels) SD_BUS_PARAM(options), "to",
        SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Verify", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Remove", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Clean", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Select", "sasa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(kernels) SD_BUS_PARAM(options), "to",
        SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Deselect", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Swap", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Rollback", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

DriverObject::DriverObject(host::Manager& manager, Authority& authority)
    : manager_(manager), authority_(authority), requests_(manager, "driver", requests) {}

const Interface DriverObject::interface { "/org/gpuhost1/driver", "org.gpuhost1.Driver", vtable };

std::string DriverObject::loaded_version() const {
    return base::string_or(requests_.observed(), "loaded_version", "");
}

std::string DriverObject::selected_version() const {
    return base::string_or(base::member(requests_.observed(), "selected"), "version", "");
}

int DriverObject::list(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(observed, manager_.observe("driver"));
        Json store = base::member(observed, "store");
        store["kernel"] = manager_.kernel();
        return reply_json(m, store);
    });
}

int DriverObject::history(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) { return reply_json(m, manager_.driver_history()); });
}

/// Implements Holders: a worker searches for holders. Only a worker sees the processes of other users, so
/// only gpuhost-cluster and root may start a search. A call that arrives during a search is answered by the
/// next search, so that no result is older than its call.
int DriverObject::holders(sd_bus_message* call) {
    return authority_.require_user(
        call, cluster_user, [this](sd_bus_message* m, const core::Subject& /*subject*/) -> Result<void> {
            if (waiting_.size() >= most_waiting)
                return base::fail(Errc::Busy, "other calls wait for the holders");
            waiting_.emplace_back(sd_bus_message_ref(m));
            if (searching_.empty())
                search();
            return {};
        });
}

void DriverObject::search() {
    searching_ = std::exchange(waiting_, {});
    manager_.runner().check({"holders.clear", "find the holders", {{"policy", "refuse"}}},
                            [this](const core::JobResult& result) { found(result); });
}

/// Answers the calls with the details of the found problems. These are the problems that the preflight of a
/// swap has with the same holders.
void DriverObject::found(const core::JobResult& result) {
    Json holders = Json::array();
    for (const core::Problem& problem : result.problems)
        if (problem.details.is_object())
            holders.push_back(problem.details);
    auto calls = std::exchange(searching_, {});
    if (result.error && result.error->code == Errc::Timeout) // a second search would outlast the callers
        for (host::Message& call : std::exchange(waiting_, {}))
            calls.push_back(std::move(call));
    for (const host::Message& call : calls)
        answer(call.get(), [&](sd_bus_message* m) -> Result<void> {
            if (result.error)
                return base::fail(*result.error);
            return reply_json(m, holders);
        });
    if (!waiting_.empty())
        search();
}

int DriverObject::import(sd_bus_message* call) {
    return requests_.import(authority_, call, import_options);
}

} // namespace gpuhost::bus
