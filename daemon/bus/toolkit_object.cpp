// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/toolkit_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

using base::Errc;
using base::Json;
using base::Result;

constexpr std::array plain_options{dry_run_option};

/// Returns the request that a call of the method `request` (its name in lower case) would make. plan() uses
/// it.
Result<Json> request_of(const std::string& request, const std::vector<std::string>& arguments) {
    if (request == "import" && !arguments.empty())
        return Json{{"request", request}, {"files", arguments}};
    if (request == "remove" && arguments.size() == 1)
        return Json{{"request", request}, {"version", arguments[0]}};
    return base::fail(Errc::InvalidArgument, "unknown request '" + request + "' with " +
                                                 std::to_string(arguments.size()) + " arguments");
}

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
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&ToolkitObject::remove>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

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

int ToolkitObject::plan(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(name, read_string(m));
        GPUHOST_TRY(arguments, read_strings(m));
        GPUHOST_TRY(request, request_of(name, arguments));
        return requests_.plan(m, std::move(request), plain_options);
    });
}

int ToolkitObject::import(sd_bus_message* call) {
    return requests_.import(authority_, call, plain_options);
}

int ToolkitObject::remove(sd_bus_message* call) {
    return authority_.require(
        call, action_remove, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            GPUHOST_TRY(version, read_string(m));
            return requests_.start(m, subject, {{"request", "remove"}, {"version", version}}, plain_options);
        });
}

} // namespace gpuhost::bus
