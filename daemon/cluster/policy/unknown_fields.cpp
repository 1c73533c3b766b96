// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/unknown_fields.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <vector>

namespace gpuhost::cluster {

using base::Json;

std::string unknown_fields(const Json& object, std::span<const std::string_view> known) {
    std::vector<std::string> texts;
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end())
            continue;
        const std::string near = base::nearest(key, {known.begin(), known.end()});
        texts.push_back("unknown field '" + key + "'" +
                        (near.empty() ? "" : " (did you mean '" + near + "'?)"));
    }
    return base::join(texts, ", ");
}

} // namespace gpuhost::cluster
