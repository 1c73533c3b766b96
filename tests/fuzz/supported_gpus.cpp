// SPDX-License-Identifier: Apache-2.0
// NVIDIA's list of GPUs, as driver import reads it out of a package.
#include "kmod/store/supported_gpus.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto list = kmod::parse_supported_gpus(fuzz::text_of(data, size), "input");
    if (!list)
        return 0;
    for (const std::string& gpu : *list)
        fuzz::require(gpu.size() == 9 && gpu.substr(0, 5) == "10de:", "a GPU is named by its numbers");
    return 0;
}
