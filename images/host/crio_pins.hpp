// SPDX-License-Identifier: Apache-2.0
// Which images CRI-O tells the kubelet's garbage collector to leave alone: pinned_images of crio.conf(5), since CRI-O 1.28,
// in a file of ours, which a running one takes up since 1.30.
//
// Of several files with such a list CRI-O takes the last one's alone, so where somebody else has one ours is not written.
#pragma once

#include "images/host/crio_reload.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view crio_pins_file = "/etc/crio/crio.conf.d/00-gpuhost.conf";

class CrioPins {
  public:
    /// `root` must outlive it. A CRI-O that listens has `patience` to answer.
    explicit CrioPins(const base::Root& root, std::chrono::milliseconds patience = std::chrono::seconds(5))
        : root_(&root), patience_(patience) {}

    /// CRI-O is on this host, and nobody else's list is.
    [[nodiscard]] bool are_used() const;
    [[nodiscard]] base::Result<std::set<std::string>> names() const;
    /// CRI-O has been told to read them when it returns, if it runs, and does so soon. Nothing where they are not used.
    [[nodiscard]] base::Result<void> add(const std::string& name) const;
    /// What CRI-O could not be told before. Nothing where it is not on this host.
    [[nodiscard]] base::Result<void> tell() const;
    /// Those that `is_wanted` stay, or none where they are not used. CRI-O is told too what it could not be told before.
    [[nodiscard]] base::Result<void>
    retain(const std::function<bool(const std::string& name)>& is_wanted) const;

  private:
    [[nodiscard]] base::Result<void> write(const std::set<std::string>& names,
                                           const CrioReload& reload) const;

    const base::Root* root_;
    std::chrono::milliseconds patience_;
};

} // namespace gpuhost::images
