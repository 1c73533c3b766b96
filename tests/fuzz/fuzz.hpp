// SPDX-License-Identifier: Apache-2.0
// A fuzzed parser: one source file, one LLVMFuzzerTestOneInput, one directory in corpus/. libFuzzer's main
// drives it in
// --enable-fuzzing builds, replay.cpp in all others, so that make check runs every input that ever broke
// something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gpuhost::fuzz {

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// A property that holds for every input.
inline void require(bool holds, const char* property) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", property);
    std::abort();
}

} // namespace gpuhost::fuzz
