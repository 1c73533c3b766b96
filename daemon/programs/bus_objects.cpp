// SPDX-License-Identifier: Apache-2.0
// This function has a file of its own, because only gpuhostd links it: workers do not use D-Bus.
#include "daemon/bus/bundle_object.hpp"
#include "daemon/bus/devices_object.hpp"
#include "daemon/bus/driver_object.hpp"
#include "daemon/bus/runtime_object.hpp"
#include "daemon/bus/toolkit_object.hpp"
#include "daemon/programs/components.hpp"

namespace gpuhost {

std::vector<bus::BusObject> bus_objects() {
    return {bus::bus_object<bus::DriverObject>(), bus::bus_object<bus::BundleObject>(),
            bus::bus_object<bus::RuntimeObject>(), bus::bus_object<bus::ToolkitObject>(),
            bus::bus_object<bus::DevicesObject>()};
}

} // namespace gpuhost
