// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/runtime_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

using base::Errc;
using base::Json;
using base::Result;

constexpr std::array change_options{dry_run_option, Option{"no-restart", 'b'}};

/// Returns the request `name` for these runtimes; an empty list means all runtimes.
Json request_of(const std::string& name, const std::vector<std::string>& runtimes) {
    return {{"request", name}, {"names", runtimes}, {"no-restart", false}};
}

} // namespace

const sd_bus_vtable RuntimeObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&RuntimeObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Configure", "asa{sv}", SD_BUS_PARAM(names) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&RuntimeObject::configure>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Restore", "asa{sv}", SD_BUS_PARAM(names) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&RuntimeObject::restore>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

const Interface RuntimeObject::interface { "/org/gpuhost1/runtime", "org.gpuhost1.Runtime", vtable };

int RuntimeObject::plan(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(name, read_string(m));
        GPUHOST_TRY(runtimes, read_strings(m));
        if (name != "configure" && name != "restore")
            return base::fail(Errc::InvalidArgument, "unknown request '" + name + "'");
        return requests_.plan(m, request_of(name, runtimes), change_options);
    });
}

Result<void> RuntimeObject::start(sd_bus_message* call, const core::Subject& subject, const char* name) {
    GPUHOST_TRY(runtimes, read_strings(call));
    return requests_.start(call, subject, request_of(name, runtimes), change_options);
}

int RuntimeObject::configure(sd_bus_message* call) {
    return authority_.require(call, action_apply, [this](sd_bus_message* m, const core::Subject& subject) {
        return start(m, subject, "configure");
    });
}

int RuntimeObject::restore(sd_bus_message* call) {
    return authority_.require(call, action_apply, [this](sd_bus_message* m, const core::Subject& subject) {
        return start(m, subject, "restore");
    });
}

} // namespace gpuhost::bus
