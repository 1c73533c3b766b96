// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// /org/gpuhost1/image, org.gpuhost1.Image: questions to the component "images". Everybody may ask.
class ImageObject {
  public:
    ImageObject(host::Manager& manager, Authority&) : manager_(manager) {}

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];

    int list(sd_bus_message* call);
    int show(sd_bus_message* call);

    host::Manager& manager_;
};

} // namespace gpuhost::bus
