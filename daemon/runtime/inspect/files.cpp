// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/files.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>

namespace gpuhost::runtime {

std::string drop_in_of(const RuntimeInstance& instance) {
    if (instance.kind == RuntimeKind::Crio)
        return instance.config_directory + "/zz-gpuhost.conf";
    if (is_containerd(instance.kind))
        return instance.config.substr(0, instance.config.rfind('/')) + "/conf.d/zz-gpuhost.toml";
    return {};
}

bool is_named(const ConfigFile& file, const std::string& path) {
    const auto imports = base::strings_or_empty(file.content, "imports");
    return std::find(imports.begin(), imports.end(), path) != imports.end();
}

} // namespace gpuhost::runtime
