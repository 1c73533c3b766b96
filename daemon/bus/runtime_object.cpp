// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/runtime_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

constexpr std::array change_options{dry_run_option, Option{"no-restart", 'b'}};

constexpr std::array requests{
    Request{"configure", action_apply, change_options, "", "names"},
    Request{"restore", action_apply, change_options, "", "names"},
};

} // namespace

const sd_bus_vtable RuntimeObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&RuntimeObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Configure", "asa{sv}", SD_BUS_PARAM(names) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&RuntimeObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Restore", "asa{sv}", SD_BUS_PARAM(names) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&RuntimeObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

RuntimeObject::RuntimeObject(host::Manager& manager, Authority& authority)
    : authority_(authority), requests_(manager, "runtime", requests) {}

const Interface RuntimeObject::interface { "/org/gpuhost1/runtime", "org.gpuhost1.Runtime", vtable };

} // namespace gpuhost::bus
