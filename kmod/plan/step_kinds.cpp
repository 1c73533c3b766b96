// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/step_kinds.hpp"

#include "kmod/build/build.hpp"
#include "kmod/step_code.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhost::kmod {

namespace {

using core::Sandbox;
using std::chrono::hours;
using std::chrono::minutes;

/// The kinds that change the driver store.
std::vector<core::StepKind> store_kinds() {
    return {
        // Packages or modules, by descriptor → sets in the staging directory.
        {.name = "store.stage",
         .sandbox = Sandbox::Parse,
         .deadline = minutes(15),
         .interruptible = true,
         .has_preflight = true},
        // Drivers of a bundle → sets in the staging directory (kmod/store/unpack_bundle.hpp).
        {.name = "driver.unpack",
         .sandbox = Sandbox::Content,
         .deadline = minutes(30),
         .interruptible = true},
        // Source in the store → module sets for some kernels in the staging directory. Its logs are kept
        // after the staging directory is removed.
        {.name = "build.compile",
         .sandbox = Sandbox::Compile,
         .deadline = build_deadline,
         .writable = {std::string(build_logs_directory)},
         .interruptible = true,
         .has_preflight = true},
        // Unsigned modules → a signed set in the staging directory (kmod/build/sign.hpp).
        {.name = "build.sign",
         .sandbox = Sandbox::Sign,
         .deadline = minutes(15),
         .interruptible = true,
         .has_preflight = true},
        // Staged sets → checked, owned by root, and in the store.
        {.name = "store.publish", .sandbox = Sandbox::Store, .deadline = minutes(15), .has_undo = true},
        // Hashes every file again.
        {.name = "store.verify", .sandbox = Sandbox::Store, .deadline = minutes(30), .interruptible = true},
        // Removes the selection of a removed kernel (kmod/boot/removed_kernels.hpp). Runs in Sandbox::System,
        // because one of the files is a link in /lib/modules.
        {.name = "store.forget", .sandbox = Sandbox::System, .has_preflight = true, .has_undo = true},
        // Moves a version to .trash, unless it is selected, loaded or mapped; or moves a module set, unless
        // its kernel is installed. Reads the mappings of all processes, which Sandbox::Store does not permit,
        // and waits for the disk.
        {.name = "store.remove",
         .sandbox = Sandbox::Units,
         .deadline = minutes(5),
         .has_preflight = true,
         .has_undo = true},
        // Deletes .trash. Always the last step, because it cannot be undone.
        {.name = "store.purge", .sandbox = Sandbox::Store, .deadline = minutes(10)},
    };
}

/// The kinds that change files of the driver, which remain after a shutdown.
std::vector<core::StepKind> file_kinds() {
    return {
        // Removes GPU drivers from the images with which the kernel boots.
        {.name = "initramfs.clear",
         .sandbox = Sandbox::Boot,
         .deadline = initramfs_deadline,
         .interruptible = true,
         .has_preflight = true,
         .has_undo = true},
        // Creates the files to which the selection links, and the new module index.
        {.name = "driver.prepare",
         .sandbox = Sandbox::System,
         .deadline = minutes(12),
         .has_preflight = true,
         .has_undo = true},
        // Sets the driver that the host boots and uses.
        {.name = "driver.select",
         .sandbox = Sandbox::System,
         .deadline = minutes(12),
         .has_preflight = true,
         .has_undo = true},
    };
}

/// The kinds that change the running system only.
std::vector<core::StepKind> running_kinds() {
    std::vector<core::StepKind> kinds{
        // Waits until no process holds the driver (policy wait only).
        {.name = "holders.wait",
         .sandbox = Sandbox::Modules,
         .deadline = longest_wait + minutes(1),
         .interruptible = true},
        // Fails if a process holds the driver. With policy "terminate", first ends such processes.
        {.name = "holders.clear", .sandbox = Sandbox::Units, .deadline = hours(1), .has_preflight = true},
        // Block the automatic loading of drivers, and allow it again.
        {.name = "autoload.block", .sandbox = Sandbox::System, .has_undo = true},
        {.name = "autoload.unblock", .sandbox = Sandbox::System, .has_undo = true},
        // Unloads and loads modules. Each module has its own, shorter deadline.
        {.name = "modules.converge",
         .sandbox = Sandbox::Modules,
         .deadline = hours(1),
         .changes_kernel = true,
         .has_preflight = true,
         .has_undo = true},
        // Stop client units (ClientUnits=), and start them again.
        {.name = "units.stop", .sandbox = Sandbox::Units, .deadline = minutes(10), .has_undo = true},
        {.name = "units.start", .sandbox = Sandbox::Units, .deadline = minutes(20), .has_undo = true},
        // Only its undo has an effect: it stops client units that were started again.
        {.name = "units.quiesce",
         .sandbox = Sandbox::Units,
         .deadline = minutes(5),
         .has_apply = false,
         .has_undo = true},
        // Makes systemd read drop-ins with which units run the driver's programs.
        {.name = "units.reload", .sandbox = Sandbox::Units, .deadline = minutes(5)},
        // Creates the driver's nodes in /dev.
        {.name = "driver.devices", .sandbox = Sandbox::Devices, .has_undo = true},
        // Checks that the driver works. The deadline is long enough for eight GPUs, which NVML starts one
        // after the other.
        {.name = "driver.validate",
         .sandbox = Sandbox::Devices,
         .deadline = minutes(5),
         .has_preflight = true},
        // Runs a computation on each GPU.
        {.name = "driver.compute",
         .sandbox = Sandbox::Devices,
         .deadline = minutes(5),
         .has_preflight = true},
    };
    for (core::StepKind& kind : kinds)
        kind.ends_with_boot = true;
    return kinds;
}

} // namespace

std::vector<core::StepKind> step_kinds() {
    std::vector<core::StepKind> kinds = store_kinds();
    for (auto part : {file_kinds(), running_kinds()})
        std::move(part.begin(), part.end(), std::back_inserter(kinds));
    return kinds;
}

} // namespace gpuhost::kmod
