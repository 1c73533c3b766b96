// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/devices_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

constexpr std::array clear_options{dry_run_option};
constexpr std::array mark_options{dry_run_option, Option{"reason", 's'}};

constexpr std::array requests{
    Request{"mark", action_apply, mark_options, "device", "", 1},
    Request{"clear", action_apply, clear_options, "device", "", 1},
};

} // namespace

const sd_bus_vtable DevicesObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&DevicesObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Mark", "sa{sv}", SD_BUS_PARAM(device) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DevicesObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Clear", "sa{sv}", SD_BUS_PARAM(device) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DevicesObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

DevicesObject::DevicesObject(host::Manager& manager, Authority& authority)
    : authority_(authority), requests_(manager, "devices", requests) {}

const Interface DevicesObject::interface { "/org/gpuhost1/devices", "org.gpuhost1.Devices", vtable };

} // namespace gpuhost::bus
