// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/former_verbs.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuhost::ctl {
namespace {

struct Former {
    std::string_view name;
    std::string_view option; ///< if not empty, the row applies only with this option
    std::string_view now;
};
/// A row with an option precedes one without.
constexpr std::array table{
    Former{"plan", "", "apply --dry-run"},
    Former{"cat-config", "", "config cat"},
    Former{"driver select", "", "driver set-default"},
    Former{"driver deselect", "", "driver release"},
    Former{"secure-boot enroll", "--create", "secure-boot create-key"},
    Former{"secure-boot enroll", "", "secure-boot show-enrolment"},
    Former{"image ensure", "", "image pull"},
    Former{"runtime plan", "", "runtime configure --dry-run"},
    Former{"runtime restore", "", "runtime unconfigure"},
    Former{"cluster status", "--follow", "fleet status --watch"},
    Former{"cluster status", "--all", "fleet status --all"},
    Former{"cluster status", "--fleet", "fleet status"},
};

bool applies(const Former& former, const std::vector<std::string>& words,
             const std::vector<std::string>& options) {
    const auto parts = base::split_words(former.name);
    return words.size() >= parts.size() && std::equal(parts.begin(), parts.end(), words.begin()) &&
           (former.option.empty() ||
            std::find(options.begin(), options.end(), former.option) != options.end());
}

} // namespace

base::Result<void> check_former(const std::vector<std::string>& words,
                                const std::vector<std::string>& options) {
    const auto* const it = std::find_if(
        table.begin(), table.end(), [&](const Former& former) { return applies(former, words, options); });
    if (it == table.end())
        return {};
    const std::string former =
        std::string(it->name) + (it->option.empty() ? "" : " ") + std::string(it->option);
    return base::fail(base::Errc::InvalidArgument, "'" + former + "' is now '" + std::string(it->now) + "'",
                      "Write: gpuhostctl " + std::string(it->now) + ".");
}

} // namespace gpuhost::ctl
