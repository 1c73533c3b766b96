// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/gather.hpp"

#include <algorithm>

namespace gpuhost::ctl {

using base::Result;

Result<void> write_record(const Gathering& gathering, bool is_complete) {
    Collection all = gathering.result;
    const auto is_absent = [&](const CollectedItem& old) {
        return std::none_of(all.items.begin(), all.items.end(), [&](const CollectedItem& item) {
            return item.file == old.file && (old.kind != "image" || item.name == old.name);
        });
    };
    if (!is_complete)
        for (const CollectedItem& old : gathering.before)
            if (is_absent(old)) {
                all.items.push_back(old);
                all.items.back().present = true;
            }
    return write_collection(gathering.directory, all, gathering.request);
}

} // namespace gpuhost::ctl
