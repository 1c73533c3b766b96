// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cdi/verbs.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "daemon/ctl/fleet/verbs.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/image/verbs.hpp"
#include "daemon/ctl/operation/verbs.hpp"
#include "daemon/ctl/runtime/verbs.hpp"
#include "daemon/ctl/secure_boot/verbs.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Family> families() noexcept {
    static constexpr std::array list{host_family,    driver_family, secure_boot_family, bundle_family,
                                     image_family,   cdi_family,    runtime_family,     toolkit_family,
                                     cluster_family, fleet_family,  operation_family};
    return list;
}

const Verb& default_verb() noexcept {
    return status_verb;
}

} // namespace gpuhost::ctl
