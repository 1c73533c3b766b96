// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

enum class Restore {
    all_or_none, ///< creates nothing if the instances of one GPU can't be created
    each_gpu,    ///< leaves out such GPUs
    after_boot,  ///< as each_gpu, and leaves out GPUs whose MIG mode lasts over a reboot and is off
};

/// Returns the verb of gpuhost-nvml.
[[nodiscard]] const char* verb_of(Restore scope) noexcept;
/// Returns nullopt for a word that is not such a verb.
[[nodiscard]] std::optional<Restore> restore_of(std::string_view verb) noexcept;

/// The result of `gpuhost-nvml LIBRARY VERB FILE` for one GPU.
struct RestoredGpu {
    std::string uuid;
    std::string address;
    bool mode_changed = false;         ///< the MIG mode was switched on
    std::size_t created = 0;           ///< compute instances
    std::size_t kept = 0;              ///< compute instances that existed
    std::vector<std::string> problems; ///< why the GPU is not as it was; empty: it is
    std::vector<std::string> commands; ///< create what is missing; empty: nothing is, or it is unknown
    friend bool operator==(const RestoredGpu&, const RestoredGpu&) = default;
};

[[nodiscard]] base::Json to_json(const std::vector<RestoredGpu>& gpus);
/// Reads {"gpus": […]}. Fails with BadContent for a value that is not of the right form.
[[nodiscard]] base::Result<std::vector<RestoredGpu>> restored_from_json(const base::Json& value);

} // namespace gpuhost::devices
