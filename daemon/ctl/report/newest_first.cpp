// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/newest_first.hpp"

#include <algorithm>

namespace gpuhost::ctl {

std::string oldest_first(std::string_view newest_first, bool is_cut) {
    std::string made;
    made.reserve(newest_first.size() + 1);
    std::size_t end = newest_first.size(); // end of the part that is not in `made` yet
    for (std::size_t at = end; at > 0;) {
        const auto before = at < 2 ? std::string_view::npos : newest_first.rfind('\n', at - 2);
        at = before == std::string_view::npos ? 0 : before + 1;
        const char first = newest_first[at];
        if (at > 0 && (first == ' ' || first == '\t'))
            continue;
        if (!is_cut) {
            made += newest_first.substr(at, end - at);
            if (made.back() != '\n')
                made += '\n';
        }
        is_cut = false;
        end = at;
    }
    return made;
}

} // namespace gpuhost::ctl
