// SPDX-License-Identifier: Apache-2.0
// Parses .manifest of NVIDIA's .run file, and the paths of its files in the store.
#include "daemon/content/package/run_manifest.hpp"

#include "daemon/content/archive/archive.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto manifest = content::parse_run_manifest(fuzz::text_of(data, size), "input");
    if (!manifest)
        return 0;
    for (const auto& [name, files] : manifest->files)
        for (const content::RunFile& file : files) {
            const std::string path = content::installed_path(name, file, manifest->version);
            fuzz::require(content::safe_relative_path(path) == path, "a path stays below the root");
        }
    return 0;
}
