// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/sweeper.hpp"

namespace gpuhost::host {

void Sweeper::remove(std::string path) {
    paths_.push_back(std::move(path));
    sweep();
}

/// Removes one portion of files in each iteration of the event loop, until no path is left.
void Sweeper::sweep() {
    constexpr std::size_t portion = 256;
    while (!paths_.empty()) {
        const std::string& path = paths_.front();
        const auto gone = root_.remove_some(path, portion);
        if (gone && !*gone) {
            if (auto later = event_.soon([this] { sweep(); }))
                next_ = *std::move(later);
            return;
        }
        if (!gone)
            base::log::warning("can't remove '" + path + "': " + gone.error().message + ", ignoring");
        paths_.pop_front();
    }
}

} // namespace gpuhost::host
