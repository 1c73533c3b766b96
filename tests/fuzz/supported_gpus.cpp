// SPDX-License-Identifier: Apache-2.0
// Parses NVIDIA's list of GPUs, as driver import does.
#include "kmod/store/supported_gpus.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto list = kmod::parse_supported_gpus(fuzz::text_of(data, size), "input");
    if (!list)
        return 0;
    for (const std::string& gpu : *list)
        fuzz::require(gpu.size() == 9 && gpu.substr(0, 5) == "10de:",
                      "a GPU is named by vendor and device ID");
    return 0;
}
