// SPDX-License-Identifier: Apache-2.0
// Parses the driver's list of MIG minors, and answers of gpuhost-nvml.
#include "daemon/base/json.hpp"
#include "daemon/runtime/gpu/mig_minors.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

namespace {

void check(const runtime::MigMinors& minors) {
    for (unsigned number = 0; number < 16; ++number)
        for (const auto& node : {minors.of_gpu_instance(0, number), minors.of_compute_instance(0, 0, number)})
            fuzz::require(!node ||
                              node->find_first_not_of("0123456789", node->rfind("cap") + 3) == node->npos,
                          "a node's name ends in its number");
}

void check(const std::vector<runtime::NvmlGpu>& gpus) {
    const auto again = runtime::parse_nvml_answer(base::dump(runtime::to_json(gpus)));
    fuzz::require(again && *again == gpus, "an answer is its own normal form");
    for (const runtime::NvmlGpu& gpu : gpus) {
        fuzz::require(gpu.model.find_first_of("\n\t\x1b") == std::string::npos, "a model is one line");
        for (const runtime::NvmlInstance& one : gpu.instances)
            fuzz::require(one.uuid.find_first_of("/=: \n.") == std::string::npos,
                          "a UUID is valid as a device's name");
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto minors = runtime::MigMinors::parse(text))
        check(*minors);
    if (const auto gpus = runtime::parse_nvml_answer(text))
        check(*gpus);
    return 0;
}
