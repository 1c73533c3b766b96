// SPDX-License-Identifier: Apache-2.0
// Parses an initramfs image, as the step does that removes GPU drivers from it.
#include "daemon/content/archive/initramfs.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <sys/mman.h>

using namespace gpuhost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::UniqueFd fd(::memfd_create("image", MFD_CLOEXEC));
    if (!base::write_all(fd.get(), fuzz::text_of(data, size), "input"))
        return 0;
    constexpr content::InitramfsLimits limits{1U << 20U, 4U << 20U, 1'000};
    const auto found = content::gpu_modules_of_initramfs({fd.get()}, "input", limits);
    if (!found)
        return 0;
    fuzz::require(found->size() <= 2 * limits.members, "the number of members is bounded");
    for (const std::string& path : *found)
        fuzz::require(content::claims_gpu(path) && path.find("..") == std::string::npos,
                      "each result is a module's path");
    return 0;
}
