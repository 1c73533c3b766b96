// SPDX-License-Identifier: Apache-2.0
// Linked into the daemon only: workers have no bus.
#include "daemon/bus/bundle_object.hpp"
#include "daemon/bus/driver_object.hpp"
#include "daemon/bus/runtime_object.hpp"
#include "daemon/bus/toolkit_object.hpp"
#include "daemon/programs/components.hpp"

namespace gpuhost {

std::vector<bus::RoomObject> bus_objects() {
    return {bus::room_object<bus::DriverObject>(), bus::room_object<bus::BundleObject>(),
            bus::room_object<bus::RuntimeObject>(), bus::room_object<bus::ToolkitObject>()};
}

} // namespace gpuhost
