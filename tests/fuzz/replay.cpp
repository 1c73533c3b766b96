// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzed parser over its corpus: each file unchanged, truncated, and with single bytes changed. Prints
// TAP.
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t variants =
    200; ///< maximum of each kind per file, so that a large file does not need minutes

void run(const std::string& input) {
    // A copy of the exact size, so that a sanitizer detects a read past the end.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    (void)LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run_variants(const std::string& input) {
    const std::size_t stride = std::max<std::size_t>(1, input.size() / variants);
    for (std::size_t at = 0; at < input.size(); at += stride) {
        run(input.substr(0, at));
        for (const char flip : {'\x01', '\x20', '\x80', '\xff'}) {
            std::string changed = input;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            run(changed);
        }
    }
}

std::vector<fs::path> corpus(const std::string& program) {
    const char* top = std::getenv("top_srcdir");
    const auto name = fs::path(program).filename().string().substr(std::string("fuzz-").size());
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(top ? top : ".") / "tests/fuzz/corpus" / name))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<fs::path> files(argv + 1, argv + argc);
    if (files.empty())
        files = corpus(argv[0]);
    std::printf("1..%zu\n", files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::ostringstream content;
        content << std::ifstream(files[i], std::ios::binary).rdbuf();
        run(content.str());
        run_variants(content.str());
        std::printf("ok %zu - %s\n", i + 1, files[i].filename().c_str());
        std::fflush(stdout);
    }
    return files.empty() ? 1 : 0;
}
