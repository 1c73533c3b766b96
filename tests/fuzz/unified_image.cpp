// SPDX-License-Identifier: Apache-2.0
// Parses a unified kernel image, as the step does that removes GPU drivers from images.
#include "daemon/content/archive/unified_image.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/archive/pe_sections.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <sys/mman.h>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::UniqueFd fd(::memfd_create("image", MFD_CLOEXEC));
    if (!base::write_all(fd.get(), fuzz::text_of(data, size), "input"))
        return 0;
    const auto sections = content::read_pe_sections(fd.get(), "input");
    if (!sections)
        return 0;
    fuzz::require(sections->size() <= content::most_pe_sections, "the number of sections is bounded");
    std::uint64_t total = 0;
    for (const content::PeSection& section : *sections) {
        fuzz::require(section.size > 0 && section.offset + section.size <= size,
                      "a section is inside of the file");
        total += section.size;
    }
    fuzz::require(total <= size, "sections do not overlap");
    constexpr content::InitramfsLimits limits{1U << 20U, 4U << 20U, 1'000};
    if (const auto found = content::gpu_modules_of_unified_image(fd.get(), "6.1", "input", limits))
        for (const std::string& path : *found)
            fuzz::require(content::claims_gpu(path), "each result is a module's path");
    return 0;
}
