// SPDX-License-Identifier: Apache-2.0
// Parses a Debian package as driver import does, and the paths of its files in the store.
#include "daemon/content/package/deb.hpp"

#include "kmod/store/layout.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto deb = content::Deb::open(fuzz::text_of(data, size), "input");
    if (!deb)
        return 0;
    fuzz::require(deb->control().package.find('/') == std::string::npos, "a package's name is not a path");
    for (unsigned entries = 0; entries < 1000; ++entries) {
        const auto entry = deb->next();
        if (!entry || !*entry)
            break;
        if (const auto placed = kmod::place_in_userland(**entry))
            fuzz::require(content::safe_relative_path(placed->path) == placed->path,
                          "a path stays below the root");
        (void)kmod::version_in_path((*entry)->path);
        (void)kmod::source_directory(**entry);
    }
    return 0;
}
