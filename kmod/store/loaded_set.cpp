// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/loaded_set.hpp"

#include <algorithm>

namespace gpuhost::kmod {

const ModuleFile* file_of(const ModuleSet& set, const LoadedModule& loaded) {
    const auto found = std::find_if(set.modules.begin(), set.modules.end(), [&](const ModuleFile& file) {
        return file.name == loaded.name && file.srcversion == loaded.srcversion;
    });
    return found == set.modules.end() ? nullptr : &*found;
}

const ModuleSet* loaded_set(const Store& store, const std::string& kernel, const LoadedModule& loaded) {
    if (const Selection* const selection = store.selection_of(kernel); selection != nullptr) {
        const Generation& now = selection->generation;
        if (const ModuleSet* const set = store.find_modules(now.version, now.modules);
            set != nullptr && file_of(*set, loaded) != nullptr)
            return set;
    }
    for (const DriverVersion& version : store.versions)
        for (const ModuleSet& set : version.modules)
            if (set.kernel == kernel && file_of(set, loaded) != nullptr)
                return &set;
    return nullptr;
}

} // namespace gpuhost::kmod
