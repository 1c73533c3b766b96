// SPDX-License-Identifier: Apache-2.0
// Finds processes that use the driver: those with its devices open or mapped. Devices are compared by number,
// because names differ between containers, any file may have such a name, and a deleted node can still be
// open. The driver's GPUs in /dev/dri are included.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "kmod/holder/parse.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gpuhost::kmod {

struct Holder {
    pid_t pid = 0;
    std::string command; ///< the kernel's short name of the process
    Origin origin;
    std::vector<std::string> devices; ///< "195:255", "/dev/nvidia-uvm (mapped)"
};

/// Returns "process 812 (python3) of nvidia-dcgm.service", with the pod or container if there is one.
[[nodiscard]] std::string describe(const Holder& holder);
/// Returns the first few holders, comma-separated, and the number of the others.
[[nodiscard]] std::string describe(const std::vector<Holder>& holders);

/// Returns {"pid", "command", "unit", "container", "pod", "devices"}; an unknown text is "".
[[nodiscard]] base::Json to_json(const Holder& holder);

/// Holders of one unit, container and pod. A pod may have hundreds of processes, and all end together.
using HolderGroup = std::vector<Holder>;
/// Groups the holders. Groups of pods are first.
[[nodiscard]] std::vector<HolderGroup> group_by_origin(const std::vector<Holder>& holders);
/// Returns "processes 812 (python3), 815 (python3) of nvidia-dcgm.service": the first few, and the number of
/// the others.
[[nodiscard]] std::string describe_group(const HolderGroup& group);
/// Returns the first holder's document with "processes", the number of holders.
[[nodiscard]] base::Json group_to_json(const HolderGroup& group);

/// Returns all holders except the calling process.
[[nodiscard]] std::vector<Holder> find_holders(const base::Root& root);
/// Returns whether this process still holds the driver.
[[nodiscard]] bool holds_driver(const base::Root& root, pid_t pid);
/// Returns whether the process has open descriptors. A process that is ending has none, even before the
/// kernel has closed all files.
[[nodiscard]] bool has_descriptors(const base::Root& root, pid_t pid);
[[nodiscard]] std::vector<Holder> without_units(std::vector<Holder> holders,
                                                const std::vector<std::string>& units);

/// Returns a Holder of `devices`, with the details of the process from procfs.
[[nodiscard]] Holder identify(const base::Root& root, pid_t pid, std::vector<std::string> devices);

/// Sends SIGTERM, and SIGKILL after `grace` if the process still holds the driver; then waits for its end.
/// Fails with InUse if a process does not end, or is pid 1 or one of gpuhost's own, which are never
/// signalled.
[[nodiscard]] base::Result<void> terminate(const base::Root& root, const std::vector<Holder>& holders,
                                           std::chrono::milliseconds grace);

} // namespace gpuhost::kmod
