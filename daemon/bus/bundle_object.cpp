// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/bundle_object.hpp"

#include <array>

namespace gpuhost::bus {

namespace {

using base::Json;
using base::Result;

constexpr std::array import_options{dry_run_option, Option{"allow-downgrade", 'b'}, Option{"unsigned", 'b'},
                                    Option{"name", 's'}, Option{"image-name", 's'}};
constexpr std::array remove_options{dry_run_option};

constexpr std::array requests{
    Request{"import", action_prepare, import_options, "", "files", 1},
    Request{"remove", action_remove, remove_options, "name", "", 1},
};

} // namespace

const sd_bus_vtable BundleObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("List", "", , "s", SD_BUS_PARAM(json), method<&BundleObject::list>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Plan", "sasa{sv}",
                             SD_BUS_PARAM(request) SD_BUS_PARAM(arguments) SD_BUS_PARAM(options), "s",
                             SD_BUS_PARAM(json), method<&BundleObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Import", "a(sh)a{sv}", SD_BUS_PARAM(files) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&BundleObject::import>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Receive", "a(sh)a{sv}", SD_BUS_PARAM(files) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&BundleObject::receive>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Remove", "sa{sv}", SD_BUS_PARAM(name) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&BundleObject::run>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

BundleObject::BundleObject(host::Manager& manager, Authority& authority)
    : manager_(manager), authority_(authority), requests_(manager, "images", requests) {}

const Interface BundleObject::interface { "/org/gpuhost1/bundle", "org.gpuhost1.Bundle", vtable };

int BundleObject::list(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(observed, manager_.observe("images"));
        Json list;
        for (const char* key :
             {"bundles", "platform", "kernels", "distributions", "gpus", "flavour", "driver_wanted"})
            list[key] = base::member(observed, key);
        return reply_json(m, list);
    });
}

int BundleObject::import(sd_bus_message* call) {
    return authority_.require(
        call, action_prepare, [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
            GPUHOST_TRY(files, read_files(m));
            return requests_.start(m, subject, {{"request", "import"}, {"files", files.names}},
                                   import_options, std::move(files.inputs));
        });
}

/// Implements Receive, the import for gpuhost-fetch. It accepts no options, so that gpuhost-fetch can't
/// request a downgrade or an unsigned bundle.
int BundleObject::receive(sd_bus_message* call) {
    const auto then = [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_TRY(files, read_files(m));
        return requests_.start(m, subject, {{"request", "receive"}, {"files", files.names}}, {},
                               std::move(files.inputs));
    };
    return authority_.require(call, action_prepare, then, fetch_user);
}

} // namespace gpuhost::bus
