// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/manifest.hpp"

#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto manifest = kmod::decode_manifest(text, "input"))
        fuzz::require(kmod::encode(*manifest) == text, "only the canonical form is accepted");
    return 0;
}
