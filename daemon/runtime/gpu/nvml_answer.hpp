// SPDX-License-Identifier: Apache-2.0
// What NVML alone knows of GPUs. gpuhost-nvml asks it, a process of its own, since NVML may hang; its answer is one JSON
// object on its standard output, {"gpus": [...]} or {"error": text}.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Of MIG, as a container gets it: a compute instance in a GPU instance.
struct NvmlInstance {
    unsigned index = 0; ///< among its GPU's; there may be gaps
    std::string uuid;   ///< "MIG-…"
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    bool graphics = false; ///< it can draw
    friend bool operator==(const NvmlInstance&, const NvmlInstance&) = default;
};

struct NvmlGpu {
    unsigned minor = 0;
    bool split = false; ///< MIG is on, though there may be no instance
    std::vector<NvmlInstance> instances;
    std::string problem; ///< why that is not all; empty: it is
    friend bool operator==(const NvmlGpu&, const NvmlGpu&) = default;
};

[[nodiscard]] base::Json to_json(const std::vector<NvmlGpu>& gpus);
/// Of what the program wrote: the last line, since a library may write too. An answer that says an error is that error.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text);

/// Of the library at `library`, a path below `host`, which must be the running one.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library);

} // namespace gpuhost::runtime
