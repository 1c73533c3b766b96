// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/toolkit_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

using base::Result;

constexpr std::array plain_options{dry_run_option};

constexpr std::array requests{
    Request{"import", action_prepare, plain_options, "", "files", 1},
    Request{"remove", action_remove, plain_options, "version", "", 1},
};

} // namespace

const sd_bus_vtable ToolkitObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("SelectedVersion", "s", property<&ToolkitObject::selected_version>, 0,
                    SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_METHOD_WITH_NAMES("List", "", , "s", SD_BUS_PARAM(json), method<&ToolkitObject::list>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&ToolkitObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Import", "a(sh)a{sv}", SD_BUS_PARAM(files) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&ToolkitObject::import>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Remove", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&ToolkitObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

ToolkitObject::ToolkitObject(host::Manager& manager, Authority& authority)
    : manager_(manager), authority_(authority), requests_(manager, "toolkit", requests) {}

const Interface ToolkitObject::interface { "/org/gpuhost1/toolkit", "org.gpuhost1.Toolkit", vtable };

std::string ToolkitObject::selected_version() const {
    return base::string_or(requests_.observed(), "selected", "");
}

int ToolkitObject::list(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(observed, manager_.observe("toolkit"));
        return reply_json(m, base::member(observed, "store"));
    });
}

int ToolkitObject::import(sd_bus_message* call) {
    return requests_.import(authority_, call, plain_options);
}

} // namespace gpuhost::bus
