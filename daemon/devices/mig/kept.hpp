// SPDX-License-Identifier: Apache-2.0
// The MIG instances that gpuhostd keeps over restarts of the host (KeepMig=), in a file of its state
// directory. The functions but read_kept() and write_kept() are pure.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/devices/mig/geometry.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

inline constexpr std::string_view kept_path = "/var/lib/gpuhost/mig.json";
/// Exists when this boot has created the kept instances, or tried to. Until then they are missing because of
/// the boot, and nothing that is observed replaces the file.
inline constexpr std::string_view tried_path = "/run/gpuhost/mig-tried";

struct KeptMig {
    Geometry gpus; ///< those that are split
    /// runtime::mig_instances() when the file was written, sorted. The daemon compares them, because only
    /// workers ask NVML.
    std::vector<std::string> instances;
    std::vector<std::string> problems; ///< which kept instances the GPUs do not have, and why
    /// The GPUs whose kept instances could not be created: what each got, with the reason as its problem.
    Geometry failed = {};
    friend bool operator==(const KeptMig&, const KeptMig&) = default;
};

/// {"gpus": […], "instances": […], "problems": […], "failed": […]}, which is valid for geometry_from_json(),
/// too.
[[nodiscard]] base::Json to_json(const KeptMig& kept);
[[nodiscard]] base::Result<KeptMig> kept_from_json(const base::Json& value);

/// Returns nullopt if nothing is kept. Fails with BadContent if the file can't be used.
[[nodiscard]] base::Result<std::optional<KeptMig>> read_kept(const base::Root& root);
/// Removes the file if nothing is kept, listed or missing. The names of instances that NVML can't describe
/// are written, so that the daemon finds no change.
[[nodiscard]] base::Result<void> write_kept(const base::Root& root, const KeptMig& kept);
/// Returns true if this boot has still to create kept instances. A file that can't be read has none.
[[nodiscard]] bool is_recreation_due(const base::Root& root);
/// Returns the names of the driver's files of MIG instances, sorted.
[[nodiscard]] std::vector<std::string> listed_instances(const base::Root& root);

/// Why kept instances could not be created, by the UUID of the GPU.
using Failures = std::map<std::string, std::string>;

/// Returns what is to be kept, given what was kept and what the GPUs have. Present instances replace those
/// that the same GPU had. The instances of a GPU that has none, that is missing, that NVML can't describe or
/// that is in `failures` stay kept, with a problem. A failure lasts as long as the GPU has what it got then,
/// or a part of the kept instances: nobody has decided that these are all.
[[nodiscard]] KeptMig keep_present(const KeptMig& kept, const Geometry& present, const Failures& failures);

} // namespace gpuhost::devices
