// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/event_lines.hpp"

#include "daemon/base/json.hpp"

#include <utility>

namespace gpuhost::cluster {

bool EventLines::feed(std::string_view bytes) {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
        if (rest_.size() + end > longest)
            return false;
        rest_.append(bytes.substr(0, end));
        bytes.remove_prefix(end + 1);
        auto event = base::parse_json(std::exchange(rest_, {}), "an event of the API server");
        if (!event || !event->is_object())
            return false;
        on_event_(std::move(*event));
    }
    rest_.append(bytes);
    return rest_.size() <= longest;
}

} // namespace gpuhost::cluster
