// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Option> common_options() noexcept {
    static constexpr std::array options{
        Option{"help", "", "print this help", false, false, 'h'},
        Option{"version", "", "print the version"},
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
