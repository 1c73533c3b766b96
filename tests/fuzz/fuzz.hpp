// SPDX-License-Identifier: Apache-2.0
// A fuzzed parser has one source file, one LLVMFuzzerTestOneInput and one directory in corpus/. libFuzzer's
// main() runs it in --enable-fuzzing builds. Other builds use replay.cpp, so that make check runs every input
// that has ever caused a failure.
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

/// Aborts if the property does not hold; it must hold for every input.
inline void require(bool holds, const char* property) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", property);
    std::abort();
}

} // namespace gpuhost::fuzz
