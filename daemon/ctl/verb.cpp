// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/verb.hpp"

#include "daemon/ctl/verbs_bundle.hpp"
#include "daemon/ctl/verbs_cdi.hpp"
#include "daemon/ctl/verbs_cluster.hpp"
#include "daemon/ctl/verbs_driver.hpp"
#include "daemon/ctl/verbs_host.hpp"
#include "daemon/ctl/verbs_image.hpp"
#include "daemon/ctl/verbs_operation.hpp"
#include "daemon/ctl/verbs_runtime.hpp"
#include "daemon/ctl/verbs_secure_boot.hpp"
#include "daemon/ctl/verbs_toolkit.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Option> common_options() noexcept {
    static constexpr std::array options{
        Option{"help", "", "print this help", false, false, 'h'},
        Option{"version", "", "print the version"},
        Option{"no-ask-password", "", "never ask for a password to be allowed something"},
    };
    return options;
}

std::span<const Family> families() noexcept {
    static constexpr std::array list{host_family,    driver_family,   secure_boot_family, bundle_family,
                                     image_family,   cdi_family,      runtime_family,     toolkit_family,
                                     cluster_family, operation_family};
    return list;
}

std::vector<const Verb*> verbs() {
    std::vector<const Verb*> all;
    for (const Family& family : families())
        all.insert(all.end(), family.verbs.begin(), family.verbs.end());
    return all;
}

} // namespace gpuhost::ctl
