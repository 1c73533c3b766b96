// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = base::parse_ini(fuzz::text_of(data, size));
    unsigned last = 0;
    for (const auto& entry : file.entries) {
        fuzz::require(!entry.key.empty(), "an entry has a key");
        fuzz::require(entry.line > last && entry.line <= size + 1, "entries are in the order of their lines");
        last = entry.line;
    }
    return 0;
}
