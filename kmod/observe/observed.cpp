// SPDX-License-Identifier: Apache-2.0
#include "kmod/observe/observed.hpp"

namespace gpuhost::kmod {

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

Observed observed_from_json(const base::Json& value) {
    Observed observed;
    observed.kernel = base::string_or(value, "kernel", "");
    for (const base::Json& kernel : base::member(value, "kernels"))
        observed.kernels.push_back(
            {base::string_or(kernel, "release", ""), base::bool_or(kernel, "headers", false)});
    for (const base::Json& kernel : base::member(value, "removed_kernels"))
        observed.removed_kernels.push_back(gone_kernel_from_json(kernel));
    for (const base::Json& gpu : base::member(value, "gpus"))
        observed.gpus.push_back(gpu_from_json(gpu));
    for (const base::Json& module : base::member(value, "loaded"))
        observed.loaded.push_back(loaded_from_json(module));
    observed.loaded_version = base::string_or(value, "loaded_version", "");
    observed.store = store_from_json(base::member(value, "store"));
    observed.units = base::strings_or_empty(value, "units");
    observed.wrong_files = base::strings_or_empty(value, "wrong_files");
    observed.options = base::string_or(value, "options", "");
    observed.configured = base::string_or(value, "configured", "");
    observed.new_kernel = base::string_or(value, "new_kernel", "");
    observed.current = base::string_or(value, "current", "");
    observed.console = base::string_or(value, "console", "");
    observed.packaged_units = base::strings_or_empty(value, "packaged_units");
    for (const auto& [kernel, image] : base::member(value, "initramfs").items())
        if (image.is_string())
            observed.initramfs[kernel] = image.get<std::string>();
    observed.devices_complete = base::bool_or(value, "devices_complete", true);
    observed.autoload_blocked = base::string_or(value, "autoload", "allowed") == "blocked";
    return observed;
}

} // namespace gpuhost::kmod
