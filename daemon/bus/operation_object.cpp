// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/operation_object.hpp"

#include <cstdlib>
#include <cstring>

namespace gpuhost::bus {

using base::Errc;
using base::Result;

const sd_bus_vtable OperationObjects::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Id", "t", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Kind", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Title", "s", get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("State", "s", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("Progress", "d", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("StatusText", "s", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("ErrorName", "s", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("ErrorMessage", "s", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("ErrorHint", "s", get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_METHOD_WITH_NAMES("Describe", "", , "s", SD_BUS_PARAM(json), method<&OperationObjects::describe>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Cancel", "", "", method<&OperationObjects::cancel>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

const Interface OperationObjects::interface { operations_path, "org.gpuhost1.Operation", vtable };

const host::Operation* OperationObjects::at(const char* path) const {
    return manager_.runner().find(operation_of(path));
}

int OperationObjects::find(sd_bus*, const char* path, const char*, void* userdata, void** found,
                           sd_bus_error*) {
    return host::guard("finding an operation", [=] {
        if (!static_cast<OperationObjects*>(userdata)->at(path))
            return 0;
        *found = userdata;
        return 1;
    });
}

int OperationObjects::enumerate(sd_bus*, const char*, void* userdata, char*** nodes, sd_bus_error*) {
    return host::guard("listing operations", [=] {
        const auto operations = static_cast<OperationObjects*>(userdata)->manager_.runner().operations();
        // sd-bus frees both the list and its strings.
        auto** list = static_cast<char**>(std::calloc(operations.size() + 1, sizeof(char*))); // NOLINT
        if (!list)
            return -ENOMEM;
        for (std::size_t i = 0; i < operations.size(); ++i)
            list[i] = ::strdup(operation_path(operations[i]->id).c_str());
        *nodes = list;
        return 1;
    });
}

int OperationObjects::get(sd_bus*, const char* path, const char*, const char* property, sd_bus_message* reply,
                          void* userdata, sd_bus_error*) {
    return host::guard("reading an operation", [=] {
        const host::Operation* operation = static_cast<OperationObjects*>(userdata)->at(path);
        if (!operation)
            return -ENOENT;
        const core::Transaction& transaction = operation->transaction;
        const std::string_view name = property;
        if (name == "Id")
            return append(reply, operation->id);
        if (name == "Kind")
            return append(reply, transaction.plan().kind);
        if (name == "Title")
            return append(reply, host::title(*operation));
        if (name == "State")
            return append(reply, host::state(*operation));
        if (name == "Progress")
            return append(reply, operation->progress);
        if (name == "StatusText")
            return append(reply, operation->text);
        const auto& error = transaction.error();
        if (name == "ErrorName")
            return append(reply, error ? base::info(error->code).dbus_name : std::string_view());
        if (name == "ErrorMessage")
            return append(reply, error ? error->message : std::string());
        return append(reply, error ? error->hint : std::string());
    });
}

int OperationObjects::describe(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        const host::Operation* operation = at(sd_bus_message_get_path(m));
        if (!operation)
            return base::fail(Errc::NotFound, "operation not found: its record was removed");
        return reply_json(m, host::to_json(*operation));
    });
}

/// Without polkit, gpuhost-cluster may cancel only the operations that it started.
int OperationObjects::cancel(sd_bus_message* call) {
    const auto then = [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_CHECK(manager_.runner().cancel(operation_of(sd_bus_message_get_path(m)), subject));
        return check(sd_bus_reply_method_return(m, nullptr), "reply");
    };
    const auto caller = authority_.callers().subject_of(call);
    const host::Operation* operation = at(sd_bus_message_get_path(call));
    const bool own = caller && operation && operation->transaction.subject().uid == caller->uid;
    return authority_.require(call, action_manage, then, own ? cluster_user : nullptr);
}

} // namespace gpuhost::bus
