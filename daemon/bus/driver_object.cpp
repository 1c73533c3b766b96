// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/driver_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

using base::Errc;
using base::Json;
using base::Result;

constexpr std::array plain_options{dry_run_option};
constexpr std::array build_options{dry_run_option, Option{"again", 'b'}, Option{"all-kernels", 'b'}};
constexpr std::array swap_options{dry_run_option, Option{"holders", 's'}, Option{"holder-timeout-usec", 't'}};

std::span<const Option> options_of(std::string_view request) {
    if (request == "swap" || request == "rollback")
        return swap_options;
    return request == "build" ? std::span<const Option>(build_options) : plain_options;
}

/// Returns the request that a call of the method `request` (its name in lower case) would make. plan() uses
/// it.
Result<Json> request_of(const std::string& request, const std::vector<std::string>& arguments) {
    Json made{{"request", request}};
    const std::size_t count = arguments.size();
    const bool has_kernels = request == "build" || request == "select";
    const bool fits = request == "rollback" || request == "clean" || request == "deselect" ? count == 0
                      : request == "swap" || request == "remove"                           ? count == 1
                      : request == "verify"                                                ? count <= 1
                      : request == "import"                                                ? count >= 1
                                                                                           : has_kernels;
    if (!fits)
        return base::fail(Errc::InvalidArgument,
                          "unknown request '" + request + "' with " + std::to_string(count) + " arguments");
    if (request == "import")
        made["files"] = arguments;
    else if (count > 0)
        made["version"] = arguments[0];
    if (has_kernels && count > 1)
        made["kernels"] = std::vector<std::string>(arguments.begin() + 1, arguments.end());
    return made;
}

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
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&DriverObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Import", "a(sh)a{sv}", SD_BUS_PARAM(files) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::import>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Build", "sasa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(kernels) SD_BUS_PARAM(options), "to",
        SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::build>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Verify", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::verify>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Remove", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::remove>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Clean", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::clean>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Select", "sasa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(kernels) SD_BUS_PARAM(options), "to",
        SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::select>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Deselect", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::deselect>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Swap", "sa{sv}", SD_BUS_PARAM(version) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::swap>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Rollback", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&DriverObject::rollback>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

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

int DriverObject::plan(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(name, read_string(m));
        GPUHOST_TRY(arguments, read_strings(m));
        GPUHOST_TRY(request, request_of(name, arguments));
        return requests_.plan(m, std::move(request), options_of(name));
    });
}

int DriverObject::import(sd_bus_message* call) {
    return requests_.import(authority_, call, plain_options);
}

int DriverObject::build(sd_bus_message* call) {
    return authority_.require(
        call, action_prepare, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            GPUHOST_TRY(version, read_string(m));
            GPUHOST_TRY(kernels, read_strings(m));
            return requests_.start(m, subject,
                                   {{"request", "build"}, {"version", version}, {"kernels", kernels}},
                                   build_options);
        });
}

int DriverObject::verify(sd_bus_message* call) {
    return authority_.require(call, action_prepare,
                              [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                  GPUHOST_TRY(version, read_string(m));
                                  Json request{{"request", "verify"}};
                                  if (!version.empty())
                                      request["version"] = version;
                                  return requests_.start(m, subject, std::move(request), plain_options);
                              });
}

int DriverObject::remove(sd_bus_message* call) {
    return authority_.require(
        call, action_remove, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            GPUHOST_TRY(version, read_string(m));
            return requests_.start(m, subject, {{"request", "remove"}, {"version", version}}, plain_options);
        });
}

int DriverObject::clean(sd_bus_message* call) {
    return authority_.require(call, action_remove,
                              [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                  return requests_.start(m, subject, {{"request", "clean"}}, plain_options);
                              });
}

int DriverObject::select(sd_bus_message* call) {
    return authority_.require(
        call, action_apply, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            GPUHOST_TRY(version, read_string(m));
            GPUHOST_TRY(kernels, read_strings(m));
            return requests_.start(m, subject,
                                   {{"request", "select"}, {"version", version}, {"kernels", kernels}},
                                   plain_options);
        });
}

int DriverObject::deselect(sd_bus_message* call) {
    return authority_.require(
        call, action_apply, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            return requests_.start(m, subject, {{"request", "deselect"}}, plain_options);
        });
}

int DriverObject::swap(sd_bus_message* call) {
    const auto then = [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_TRY(version, read_string(m));
        return requests_.start(m, subject, {{"request", "swap"}, {"version", version}}, swap_options);
    };
    return authority_.require(call, action_apply, then, cluster_user);
}

int DriverObject::rollback(sd_bus_message* call) {
    return authority_.require(call, action_apply, [this](sd_bus_message* m, const core::Subject& subject) {
        return requests_.start(m, subject, {{"request", "rollback"}}, swap_options);
    });
}

} // namespace gpuhost::bus
