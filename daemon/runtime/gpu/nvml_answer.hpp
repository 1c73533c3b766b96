// SPDX-License-Identifier: Apache-2.0
// Facts about GPUs that only NVML provides. The separate process gpuhost-nvml queries it, because NVML may
// hang. The process writes one JSON object to its stdout: {"gpus": [...]} or {"error": text}.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// A MIG device for a container: a compute instance in a GPU instance.
struct NvmlInstance {
    unsigned index = 0; ///< within its GPU; may have gaps
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
/// Parses the last line of the program's output, since a library may print too. Fails with the error that the
/// answer contains, if any.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text);

/// Queries NVML. `library` is a path below `host`, which must be the running host.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library);

} // namespace gpuhost::runtime
