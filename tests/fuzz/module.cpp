// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/info.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto image = fuzz::text_of(data, size);
    if (const auto info = kmod::parse_module_info(image, "input"))
        fuzz::require(!info->name.empty(), "a module has a name");
    (void)kmod::parse_symbol_versions(image, "input");
    return 0;
}
