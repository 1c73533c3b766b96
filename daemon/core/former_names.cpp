// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/former_names.hpp"

#include "daemon/core/cluster_desired.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::core {
namespace {

using Pair = std::pair<std::string_view, std::string_view>; ///< former, present

constexpr std::array<Pair, 6> kinds{{{"door.shut", "autoload.block"},
                                     {"door.open", "autoload.unblock"},
                                     {"driver.take", "driver.unpack"},
                                     {"toolkit.take", "toolkit.unpack"},
                                     {"bundle.adopt", "bundle.convert"},
                                     {"bundle.settle", "bundle.finalize"}}};

constexpr std::array<Pair, 2> files{{{"/var/lib/gpuhost/cluster-wish.conf", cluster_desired_file},
                                     {"/run/gpuhost/crio.untold", "/run/gpuhost/crio.reload-pending"}}};

struct Key {
    std::string_view section, former, present;
};

constexpr std::array<Key, 6> keys{{{"CDI", "Enable", "Manage"},
                                   {"Cluster", "Upgrades", "Manage"},
                                   {"Cluster", "Validations", "StatusFiles"},
                                   {"Mirrors", "Enable", "Manage"},
                                   {"Packages", "Repositories", "Manage"},
                                   {"Runtime", "Configure", "Manage"}}};

} // namespace

std::string_view present_kind(std::string_view name) {
    const auto* const it =
        std::find_if(kinds.begin(), kinds.end(), [&](const Pair& kind) { return kind.first == name; });
    return it == kinds.end() ? name : it->second;
}

std::string_view present_key(std::string_view section, std::string_view name) {
    const auto* const it = std::find_if(keys.begin(), keys.end(), [&](const Key& key) {
        return key.section == section && key.former == name;
    });
    return it == keys.end() ? name : it->present;
}

base::Result<void> rename_former_files(const base::Root& root) {
    for (const auto& [former, present] : files) {
        if (!root.exists(former))
            continue;
        GPUHOST_CHECK(root.exists(present) ? root.remove(former) : root.rename(former, present));
    }
    return {};
}

} // namespace gpuhost::core
