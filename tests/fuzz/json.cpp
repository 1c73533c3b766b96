// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = base::parse_json(fuzz::text_of(data, size), "input");
    if (!value)
        return 0;
    const auto again = base::parse_json(base::dump(*value), "output");
    fuzz::require(again && *again == *value, "a value can be written and read again");
    (void)base::error_from_json(*value);
    return 0;
}
