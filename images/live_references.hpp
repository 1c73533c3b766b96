// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/references.hpp"

#include <memory>
#include <mutex>

namespace gpuhost::images {

/// The References of a catalogue that changes: loaded again when that has. For many threads.
class LiveReferences {
  public:
    /// `root` must outlive it.
    explicit LiveReferences(const base::Root& root) : root_(root) {}

    /// At least as new as the call. What cost a load is shared by all that waited for it.
    [[nodiscard]] base::Result<std::shared_ptr<const References>> current();

  private:
    struct Loaded {
        std::shared_ptr<const References> references;
        std::uint64_t stamp_us = 0; ///< when the catalogue had last changed before it was loaded
        std::uint64_t began_us = 0; ///< when loading began; both by the clock of files
    };
    [[nodiscard]] bool holds(const Loaded& loaded, std::uint64_t stamp_us, std::uint64_t asked_us) const;

    const base::Root& root_;
    std::mutex mutex_;
    Loaded loaded_;
};

} // namespace gpuhost::images
