// SPDX-License-Identifier: Apache-2.0
// Who keeps the driver busy: processes with its devices open or mapped, found by device number, because names
// differ between containers, anybody may give a file such a name, and a deleted node can still be open. The
// driver's GPUs in /dev/dri are among them.
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

/// "process 812 (python3) of nvidia-dcgm.service", with the pod or container where there is one.
[[nodiscard]] std::string describe(const Holder& holder);
/// The first few, comma-separated, and how many more.
[[nodiscard]] std::string describe(const std::vector<Holder>& holders);

/// {"pid", "command", "unit", "container", "pod", "devices"}; a text that is not known is "".
[[nodiscard]] base::Json to_json(const Holder& holder);

/// Holders of one unit, container and pod. A pod may have hundreds of processes, and leaves as one.
using HolderGroup = std::vector<Holder>;
/// Groups of pods come first.
[[nodiscard]] std::vector<HolderGroup> group_by_origin(const std::vector<Holder>& holders);
/// "processes 812 (python3), 815 (python3) of nvidia-dcgm.service": the first few, and how many more.
[[nodiscard]] std::string describe_group(const HolderGroup& group);
/// The first holder's, and "processes": how many there are.
[[nodiscard]] base::Json group_to_json(const HolderGroup& group);

/// All of them but the calling process.
[[nodiscard]] std::vector<Holder> find_holders(const base::Root& root);
/// Does this process still hold the driver?
[[nodiscard]] bool holds_driver(const base::Root& root, pid_t pid);
/// Has it anything open? What is ending has not, before the kernel is done with closing it.
[[nodiscard]] bool has_descriptors(const base::Root& root, pid_t pid);
[[nodiscard]] std::vector<Holder> without_units(std::vector<Holder> holders,
                                                const std::vector<std::string>& units);

/// A Holder of `devices`, with what procfs says of the process.
[[nodiscard]] Holder identify(const base::Root& root, pid_t pid, std::vector<std::string> devices);

/// SIGTERM, then SIGKILL after `grace` if it still holds the driver, and waits for the end. Never pid 1,
/// never gpuhost's own processes.
[[nodiscard]] base::Result<void> terminate(const base::Root& root, const std::vector<Holder>& holders,
                                           std::chrono::milliseconds grace);

} // namespace gpuhost::kmod
