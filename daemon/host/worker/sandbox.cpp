// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/sandbox.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/job.hpp"

#include <algorithm>

#include <linux/capability.h>

namespace gpuhost::host {

namespace {

using core::Sandbox;
using Properties = std::vector<UnitProperty>;

constexpr std::uint64_t capability(unsigned number) {
    return std::uint64_t{1} << number;
}

// Capabilities to write files that the user gpuhost-worker created, and to change their owner.
constexpr std::uint64_t files = capability(CAP_DAC_OVERRIDE) | capability(CAP_FOWNER) | capability(CAP_CHOWN);
// Capabilities to make device nodes as nvidia-modprobe does.
constexpr std::uint64_t nodes = capability(CAP_MKNOD) | capability(CAP_CHOWN) | capability(CAP_FOWNER);
// Capabilities to find the processes that use a device, by their descriptors and mappings.
constexpr std::uint64_t processes = capability(CAP_SYS_PTRACE) | capability(CAP_DAC_READ_SEARCH);

UnitProperty on(const char* name) {
    return {name, true};
}
UnitProperty text(const char* name, const char* value) {
    return {name, std::string(value)};
}

/// Returns the properties of all sandboxes. They need no mount namespace, whose setup takes longer than the
/// unload of a module, and restrict no worker's task. RestrictSUIDSGID is not set: it makes openat2 fail with
/// ENOSYS, and base::Root needs openat2 to stay below its directory.
Properties for_all(std::uint64_t capabilities, Words families, Words calls) {
    return {
        {"CapabilityBoundingSet", capabilities},
        {"AmbientCapabilities", std::uint64_t{0}},
        on("NoNewPrivileges"),
        on("LockPersonality"),
        on("MemoryDenyWriteExecute"),
        on("RestrictRealtime"),
        {"RestrictNamespaces", std::uint64_t{0}},
        {"RestrictAddressFamilies", Filter{true, std::move(families)}},
        {"SystemCallArchitectures", Words{"native"}},
        {"SystemCallFilter", Filter{true, std::move(calls)}},
        {"SystemCallFilter", Filter{false, {"@resources"}}},
        {"SystemCallErrorNumber", std::int32_t{1}}, // EPERM: a reported error, not a killed worker
        text("KeyringMode", "private"),
        on("PrivateNetwork"),
        {"UMask", std::uint32_t{022}},
    };
}

/// Returns the properties that need a mount namespace: all files are read-only except `writable`.
Properties closed_file_system(Words writable) {
    return {
        text("ProtectSystem", "strict"),
        text("ProtectHome", "yes"),
        {"ReadWritePaths", std::move(writable)},
        on("PrivateTmp"),
        on("PrivateDevices"),
        on("PrivateIPC"),
        on("ProtectKernelTunables"),
        on("ProtectKernelLogs"),
        on("ProtectControlGroups"),
        on("ProtectClock"),
        on("ProtectHostname"),
        text("ProtectProc", "invisible"),
    };
}

/// Returns the property that hides /lib/modules. The sandbox Compile does not have it, because the headers to
/// compile against are there. The capabilities and the system call filter have all other effects of the
/// property.
UnitProperty hidden_modules() {
    return on("ProtectKernelModules");
}

void add(Properties& to, Properties more) {
    to.insert(to.end(), more.begin(), more.end());
}

/// Returns the paths of `writable` below /var/lib, except staging directories, as StateDirectory= expects
/// them. systemd creates missing ones, owned by the worker's user.
Words state_directories(const Words& writable) {
    constexpr std::string_view state = "-/var/lib/";
    Words made;
    for (const std::string& path : writable)
        if (base::starts_with(path, state) && !base::starts_with(path.substr(1), core::staging_directory))
            made.push_back(path.substr(state.size()));
    return made;
}

Properties unprivileged(Sandbox sandbox, Words writable) {
    Properties made = for_all(0, {}, {"@system-service"});
    add(made, closed_file_system(std::move(writable)));
    made.push_back({"User", std::string(user_of(sandbox))});
    made.push_back({"TasksMax", std::uint64_t{sandbox == Sandbox::Compile ? 512U : 16U}});
    if (sandbox == Sandbox::Compile) {
        made.push_back({"Nice", std::int32_t{10}}); // GPUs stay in use while it compiles
        return made;
    }
    made.push_back(hidden_modules());
    made.push_back(text("ProcSubset", "pid"));
    return made;
}

} // namespace

std::string_view user_of(Sandbox sandbox) noexcept {
    if (sandbox == Sandbox::Content)
        return store_user;
    return sandbox == Sandbox::Parse || sandbox == Sandbox::Compile ? worker_user : std::string_view();
}

Sandbox widest(const std::vector<Sandbox>& sandboxes) noexcept {
    for (const Sandbox candidate : {Sandbox::Modules, Sandbox::Mig, Sandbox::Devices, Sandbox::Runtimes,
                                    Sandbox::Units, Sandbox::System})
        if (std::find(sandboxes.begin(), sandboxes.end(), candidate) != sandboxes.end())
            return candidate;
    return sandboxes.empty() ? Sandbox::Store : sandboxes.front();
}

bool has_own_preflights(Sandbox sandbox) noexcept {
    return !user_of(sandbox).empty() || sandbox == Sandbox::Mig;
}

bool serves_many(Sandbox sandbox) noexcept {
    switch (sandbox) {
    case Sandbox::System:
    case Sandbox::Modules:
    case Sandbox::Units:
    case Sandbox::Runtimes:
    case Sandbox::Devices:
    case Sandbox::Mig:
        return true;
    case Sandbox::Parse:
    case Sandbox::Compile:
    case Sandbox::Content:
    case Sandbox::Sign:
    case Sandbox::Store:
    case Sandbox::Boot:
        return false;
    }
    return false;
}

Properties sandbox_properties(Sandbox sandbox, Words writable) {
    Properties made;
    Words states;
    switch (sandbox) {
    case Sandbox::Content:
        states = state_directories(writable);
        made = unprivileged(sandbox, std::move(writable));
        if (!states.empty())
            made.push_back({"StateDirectory", std::move(states)});
        made.push_back({"MemoryMax", std::uint64_t{512} << 20U}); // unverified input must not use more
        made.push_back({"MemorySwapMax", std::uint64_t{0}});
        return made;
    case Sandbox::Parse:
    case Sandbox::Compile:
        return unprivileged(sandbox, std::move(writable));
    case Sandbox::Sign:
        // AF_UNIX: tokens are reached through the sockets of pcscd or p11-kit's server. DAC_OVERRIDE: another
        // user owns the staging directory.
        made = for_all(capability(CAP_DAC_OVERRIDE), {"AF_UNIX"}, {"@system-service"});
        add(made, closed_file_system(std::move(writable)));
        made.push_back(hidden_modules());
        made.push_back(text("ProcSubset", "pid"));
        made.push_back({"TasksMax", std::uint64_t{16}});
        return made;
    case Sandbox::Store:
        made = for_all(files, {}, {"@system-service"});
        writable.emplace_back("/var/lib/gpuhost");
        add(made, closed_file_system(std::move(writable)));
        made.push_back(hidden_modules());
        return made;
    case Sandbox::System:
        made = for_all(files, {}, {"@system-service"});
        made.push_back(text("ProtectHome", "yes"));
        return made;
    case Sandbox::Boot:
        // A file hidden from the initramfs tools would silently be missing in the image. SYS_ADMIN: the
        // device mapper requires it to report the root's devices. MKNOD, SYS_CHROOT: the tools create device
        // nodes, and ldconfig's cache in a chroot.
        made = for_all(files | capability(CAP_MKNOD) | capability(CAP_SYS_CHROOT) | capability(CAP_SYS_ADMIN),
                       {}, {"@system-service", "chroot"});
        for (const char* property : {"PrivateTmp", "ProtectKernelTunables", "ProtectKernelLogs",
                                     "ProtectControlGroups", "ProtectHostname"})
            made.push_back(on(property));
        // ProtectSystem=full is not used, because it makes /boot a mount point. dracut freezes the file
        // system of a /boot that is a mount point; here this may be the root file system.
        made.push_back({"ReadOnlyPaths", Words{"/usr", "/etc"}});
        made.push_back(text("ProtectHome", "read-only"));
        made.push_back({"Nice", std::int32_t{10}});
        return made;
    case Sandbox::Modules:
        // CAP_KILL: with HolderPolicy=terminate, an undo kills processes that use the new driver.
        made = for_all(capability(CAP_SYS_MODULE) | capability(CAP_KILL) | processes, {},
                       {"@system-service", "@module"});
        made.push_back({"UMask", std::uint32_t{077}});  // this worker creates no file for other users
        made.push_back(text("DevicePolicy", "closed")); // this worker examines device nodes and opens none
        return made;
    case Sandbox::Units:
        return for_all(capability(CAP_KILL) | processes, {"AF_UNIX"}, {"@system-service"});
    case Sandbox::Runtimes:
        made = for_all(files | processes, {"AF_UNIX"}, {"@system-service"});
        for (const char* property :
             {"PrivateTmp", "PrivateDevices", "PrivateIPC", "ProtectKernelTunables", "ProtectKernelLogs",
              "ProtectControlGroups", "ProtectClock", "ProtectHostname"})
            made.push_back(on(property));
        made.push_back(text("ProtectHome", "yes"));
        made.push_back(hidden_modules());
        return made;
    case Sandbox::Devices:
        return for_all(nodes, {"AF_UNIX"}, {"@system-service"});
    case Sandbox::Mig:
        // SYS_ADMIN: the driver requires it to list and create instances, and to switch the MIG mode. Without
        // ProtectKernelTunables, because NVML may unbind a GPU through /sys.
        made = for_all(nodes | capability(CAP_SYS_ADMIN), {"AF_UNIX"}, {"@system-service"});
        for (const char* property :
             {"PrivateTmp", "ProtectKernelLogs", "ProtectControlGroups", "ProtectHostname"})
            made.push_back(on(property));
        made.push_back(text("ProtectHome", "yes"));
        made.push_back(hidden_modules());
        return made;
    }
    return made;
}

} // namespace gpuhost::host
