// SPDX-License-Identifier: Apache-2.0
// Finds the holders of the driver: processes that have one of its devices open or mapped. Devices are
// compared by number. Their paths differ between containers, other files may have such a path, and a deleted
// node can still be open. The nodes of the driver's GPUs in /dev/dri are included.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "kmod/holder/parse.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gpuhost::kmod {

struct Holder {
    pid_t pid = 0;
    std::string command; ///< /proc/PID/comm
    Origin origin;
    std::vector<std::string> devices; ///< "195:255", "/dev/nvidia-uvm (mapped)"
};

/// Returns "process 812 (python3) of nvidia-dcgm.service". If the process is in a pod or container, the text
/// names the pod or container instead of the unit.
[[nodiscard]] std::string describe(const Holder& holder);
/// Returns describe() of the first five holders, comma-separated, and the number of the others.
[[nodiscard]] std::string describe(const std::vector<Holder>& holders);

/// Returns {"pid", "command", "unit", "container", "pod", "devices"}. Each of "unit", "container" and "pod"
/// is "" if the process is in none.
[[nodiscard]] base::Json to_json(const Holder& holder);

/// The holders of the same unit, container and pod, which are reported together. A pod may have hundreds of
/// processes.
using HolderGroup = std::vector<Holder>;
/// Groups holders by unit, container and pod. Groups of pods are first.
[[nodiscard]] std::vector<HolderGroup> group_by_origin(const std::vector<Holder>& holders);
/// Returns "processes 812 (python3), 815 (python3) of nvidia-dcgm.service": the first five processes, and the
/// number of the others.
[[nodiscard]] std::string describe_group(const HolderGroup& group);
/// Returns to_json() of the group's first holder, with "processes", the number of holders in the group.
[[nodiscard]] base::Json group_to_json(const HolderGroup& group);

/// Returns all holders on the host except the calling process. A process that cannot be examined is left out.
[[nodiscard]] std::vector<Holder> find_holders(const base::Root& root);
/// Returns whether this process holds the driver now.
[[nodiscard]] bool holds_driver(const base::Root& root, pid_t pid);
/// Returns whether the process has open descriptors. A process that is ending has none, even while the kernel
/// is still closing its files.
[[nodiscard]] bool has_descriptors(const base::Root& root, pid_t pid);
/// Returns the holders that are not processes of `units`.
[[nodiscard]] std::vector<Holder> without_units(std::vector<Holder> holders,
                                                const std::vector<std::string>& units);

/// Makes a Holder: reads the process's name and its unit, container and pod from procfs. `devices` is stored
/// unchanged.
[[nodiscard]] Holder identify(const base::Root& root, pid_t pid, std::vector<std::string> devices);

/// Terminates the processes: sends SIGTERM to all, and after `grace` SIGKILL to those that still hold the
/// driver. Then waits until they end. Fails with InUse if one does not end. Fails with InUse before any
/// signal if one is PID 1 or a process of gpuhost.
[[nodiscard]] base::Result<void> terminate(const base::Root& root, const std::vector<Holder>& holders,
                                           std::chrono::milliseconds grace);

} // namespace gpuhost::kmod
