// SPDX-License-Identifier: Apache-2.0
// Which images CRI-O tells the kubelet's garbage collector to leave alone: pinned_images of crio.conf(5), since CRI-O 1.28,
// in a file of ours, which a running one takes up since 1.30.
//
// Of several files with such a list CRI-O takes the last one's alone, so where somebody else has one ours is not written.
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view crio_socket = "/run/crio/crio.sock";
constexpr std::string_view crio_pins_file = "/etc/crio/crio.conf.d/00-gpuhost.conf";

class CrioPins {
  public:
    /// `root` must outlive it.
    explicit CrioPins(const base::Root& root) : root_(&root) {}

    /// CRI-O is on this host, and nobody else's list is.
    [[nodiscard]] bool are_used() const;
    [[nodiscard]] base::Result<std::set<std::string>> names() const;
    /// CRI-O knows when it returns, if it runs. Nothing where they are not used.
    [[nodiscard]] base::Result<void> add(const std::string& name) const;
    [[nodiscard]] base::Result<void> remove(const std::string& name) const;

  private:
    [[nodiscard]] base::Result<void> write(const std::set<std::string>& names) const;

    const base::Root* root_;
};

} // namespace gpuhost::images
