// SPDX-License-Identifier: Apache-2.0
// Facts about GPUs that only NVML provides. The program gpuhost-nvml queries NVML in a process of its own,
// because NVML may hang. It writes one JSON object to stdout: {"gpus": [...]} or {"error": text}.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// A MIG device that a container can get: a compute instance in a GPU instance.
struct NvmlInstance {
    unsigned index = 0; ///< index within its GPU; the indices may have gaps
    std::string uuid;   ///< "MIG-…"
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    bool graphics = false; ///< supports graphics
    friend bool operator==(const NvmlInstance&, const NvmlInstance&) = default;
};

struct NvmlGpu {
    unsigned minor = 0;
    bool split = false; ///< MIG is on, even without instances
    std::vector<NvmlInstance> instances;
    std::string problem; ///< why the list is incomplete; empty: it is complete
    friend bool operator==(const NvmlGpu&, const NvmlGpu&) = default;
};

[[nodiscard]] base::Json to_json(const std::vector<NvmlGpu>& gpus);
/// Parses the output of gpuhost-nvml: its last line, because NVML may print lines too. Fails with the error
/// that the answer contains, if any.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text);

/// Runs gpuhost-nvml with an NVML library. `library` is a path below `host`, which must be the running host.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library);

} // namespace gpuhost::runtime
