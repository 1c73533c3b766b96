// SPDX-License-Identifier: Apache-2.0
#include "images/host/k3s.hpp"

#include "daemon/content/set/file_operation.hpp"

#include <tuple>

#include <sys/stat.h>

namespace gpuhost::images {

bool is_here(const base::Root& root, const K3s& k3s) {
    return root.exists(k3s.directory) || root.exists(k3s.agent);
}

std::string k3s_registries(const std::vector<std::string>& registries, const std::string& endpoint) {
    std::string text = std::string(content::file_mark) + "mirrors:\n";
    for (const std::string& registry : registries)
        text += "  \"" + registry + "\":\n    endpoint:\n      - \"" + endpoint + "\"\n";
    return text;
}

bool has_to_read_registries(const base::Root& root, const K3s& k3s) {
    const auto changed = root.stat(k3s.registries);
    const auto written = root.stat(std::string(k3s.agent) + "/etc/containerd/config.toml");
    return changed && written &&
           std::tie(written->st_mtim.tv_sec, written->st_mtim.tv_nsec) <
               std::tie(changed->st_mtim.tv_sec, changed->st_mtim.tv_nsec);
}

} // namespace gpuhost::images
