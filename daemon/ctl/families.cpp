// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/config/verbs.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "daemon/ctl/fleet/verbs.hpp"
#include "daemon/ctl/gpu/verbs.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/image/verbs.hpp"
#include "daemon/ctl/operation/verbs.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Family> families() noexcept {
    static constexpr std::array list{host_family,     config_family,  driver_family,  secure_boot_family,
                                     bundle_family,   image_family,   cdi_family,     runtime_family,
                                     gpu_family,      toolkit_family, cluster_family, fleet_family,
                                     operation_family};
    return list;
}

std::span<const Family> common_families() noexcept {
    static constexpr std::array show{&status_verb, &doctor_verb, &operation_list_verb, &fleet_status_verb};
    static constexpr std::array change{&upgrade_verb, &apply_verb, &driver_swap_verb, &driver_rollback_verb};
    static constexpr std::array store{&bundle_import_verb, &driver_import_verb, &driver_list_verb,
                                      &image_list_verb};
    static constexpr std::array groups{Family{"Show the state of hosts:", show},
                                       Family{"Change this host:", change},
                                       Family{"Import drivers and images:", store}};
    return groups;
}

const Verb& default_verb() noexcept {
    return status_verb;
}

} // namespace gpuhost::ctl
