// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Option> common_options() noexcept {
    static constexpr std::array options{
        Option{"help", "", "print this help", false, false, 'h'},
        Option{"version", "", "print the version"},
        Option{"quiet", "", "print no notes and no progress", false, false, 'q'},
        Option{"no-legend", "", "print tables without header and footer"},
        Option{"no-pager", "", "do not start a pager"},
        Option{"no-ask-password", "", "never ask for a password for authorization"},
    };
    return options;
}

std::vector<const Verb*> verbs() {
    std::vector<const Verb*> all;
    for (const Family& family : families())
        all.insert(all.end(), family.verbs.begin(), family.verbs.end());
    return all;
}

} // namespace gpuhost::ctl
