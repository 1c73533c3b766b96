// SPDX-License-Identifier: Apache-2.0
// Configurations of container runtimes, and what they come to.
#include "daemon/runtime/toml.hpp"

#include "daemon/runtime/containerd_merge.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = runtime::parse_toml(fuzz::text_of(data, size), "input");
    if (!file)
        return 0;
    fuzz::require(file->is_object(), "a document is a table");
    for (const unsigned major : {1U, 2U})
        for (const unsigned minor : {0U, 6U, 7U}) {
            const runtime::RuntimeVersion version{major, minor, "x"};
            const auto once = runtime::merge_containerd({*file}, version);
            const auto twice = runtime::merge_containerd({*file, *file}, version);
            fuzz::require(base::member(once.document, "plugins") == base::member(twice.document, "plugins"),
                          "a file that comes again changes no plugin");
            const auto config = runtime::containerd_config({*file}, version);
            fuzz::require(std::is_sorted(config.handlers.begin(), config.handlers.end(),
                                         [](const auto& a, const auto& b) { return a.name < b.name; }),
                          "runtimes are in order");
        }
    (void)runtime::crio_config({*file, *file}, std::nullopt);
    (void)runtime::podman_config({*file}, std::nullopt);
    (void)runtime::docker_config(*file, {}, std::nullopt);
    return 0;
}
