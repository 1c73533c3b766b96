// SPDX-License-Identifier: Apache-2.0
#include "kmod/observe/observed.hpp"

#include "kmod/module/headers.hpp"

namespace gpuhost::kmod {

std::vector<core::Problem> Observed::build_problems(const std::string& release) const {
    for (const InstalledKernel& installed : kernels)
        if (installed.release == release)
            return installed.build_problems;
    return {headers_not_found(release)};
}

base::Json to_json(const Observed& observed) {
    base::Json gpus = base::Json::array();
    for (const PciGpu& gpu : observed.gpus)
        gpus.push_back(to_json(gpu));
    base::Json loaded = base::Json::array();
    for (const LoadedModule& module : observed.loaded)
        loaded.push_back(to_json(module));
    const Selection* const selection = observed.selection();
    base::Json kernels = base::Json::array();
    for (const InstalledKernel& kernel : observed.kernels)
        kernels.push_back({{"release", kernel.release}, {"headers", kernel.headers}});
    base::Json gone = base::Json::array();
    for (const RemovedKernel& kernel : observed.removed_kernels)
        gone.push_back(to_json(kernel));
    return {{"kernel", observed.kernel},
            {"kernels", std::move(kernels)},
            {"removed_kernels", std::move(gone)},
            {"gpus", std::move(gpus)},
            {"loaded", std::move(loaded)},
            {"loaded_version", observed.loaded_version},
            {"selected", selection != nullptr ? to_json(*selection) : base::Json()},
            {"store", to_json(observed.store)},
            {"units", observed.units},
            {"wrong_files", observed.wrong_files},
            {"options", observed.options},
            {"configured", observed.configured},
            {"new_kernel", observed.new_kernel},
            {"current", observed.current},
            {"console", observed.console},
            {"packaged_units", observed.packaged_units},
            {"initramfs", observed.initramfs},
            {"devices_complete", observed.devices_complete},
            {"autoload", observed.autoload_blocked ? "blocked" : "allowed"}};
}

} // namespace gpuhost::kmod
