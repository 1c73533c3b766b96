// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/image_object.hpp"

#include "daemon/bus/call.hpp"

namespace gpuhost::bus {

using base::Json;
using base::Result;

const sd_bus_vtable ImageObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("List", "s", SD_BUS_PARAM(pattern), "s", SD_BUS_PARAM(json),
                             method<&ImageObject::list>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Show", "s", SD_BUS_PARAM(name), "s", SD_BUS_PARAM(json),
                             method<&ImageObject::show>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

const Interface ImageObject::interface { "/org/gpuhost1/image", "org.gpuhost1.Image", vtable };

int ImageObject::list(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(pattern, read_string(m));
        GPUHOST_TRY(images, manager_.ask("images", {{"ask", "list"}, {"pattern", pattern}}));
        return reply_json(m, images);
    });
}

int ImageObject::show(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(name, read_string(m));
        GPUHOST_TRY(image, manager_.ask("images", {{"ask", "show"}, {"name", name}}));
        return reply_json(m, image);
    });
}

} // namespace gpuhost::bus
