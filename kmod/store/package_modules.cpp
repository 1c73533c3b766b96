// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/package_modules.hpp"

#include "kmod/store/module_set.hpp"

#include <fcntl.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;

namespace {

// Limit of the modules for all kernels together. Each module is an open file; a driver has five modules.
constexpr std::size_t most_modules = 64;

} // namespace

Result<void> PackageModules::take(const ModulePlace& place, content::ArchiveReader& archive) {
    if (++count_ > most_modules)
        return base::fail(Errc::BadContent,
                          "more than " + std::to_string(most_modules) + " modules are in these packages",
                          "Import the modules for one kernel at a time.");
    constexpr const char* path = "/module";
    GPUHOST_CHECK(staging_.remove(path));
    GPUHOST_TRY(fd, staging_.open_file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    GPUHOST_CHECK(staging_.remove(path));
    GPUHOST_CHECK(archive.copy_to(fd.get()));
    kernels_[place.kernel].push_back({std::move(fd), place.file});
    return {};
}

Result<std::vector<Manifest>> PackageModules::stage(const std::string& version, std::uint64_t space) {
    std::vector<Manifest> manifests;
    for (const auto& [kernel, taken] : kernels_) {
        std::vector<ModuleInput> inputs;
        for (const Stored& module : taken)
            inputs.push_back({module.fd.get(), module.file});
        GPUHOST_TRY(manifest, stage_modules(staging_, inputs, space));
        if (manifest.version != version || manifest.kernel != kernel)
            return base::fail(Errc::BadContent,
                              "the modules in lib/modules/" + kernel + " are " + manifest.version + " for " +
                                  manifest.kernel + ", the package has version " + version,
                              "Download the package again: it is inconsistent.");
        for (const content::TreeFile& file : manifest.files)
            space -= std::min(space, file.size);
        manifests.push_back(std::move(manifest));
    }
    return manifests;
}

} // namespace gpuhost::kmod
