// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/answer.hpp"

#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/driver_root.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"

namespace gpuhost::devices {

using base::Json;
using base::Result;

namespace {

Result<Json> ask(const base::Root& host, std::vector<std::string> words, std::chrono::seconds patience) {
    GPUHOST_TRY(library, runtime::loaded_nvml_library(host));
    return runtime::run_nvml(host, library, std::move(words), patience);
}

} // namespace

Result<Geometry> ask_geometry(const base::Root& host, std::chrono::seconds patience) {
    GPUHOST_TRY(answer, ask(host, {"mig"}, patience));
    return geometry_from_json(answer);
}

Result<std::vector<RestoredGpu>> ask_restore(const base::Root& host, const std::string& file, Restore scope,
                                             std::chrono::seconds patience) {
    GPUHOST_TRY(answer, ask(host, {verb_of(scope), host.host_path(file)}, patience));
    return restored_from_json(answer);
}

} // namespace gpuhost::devices
