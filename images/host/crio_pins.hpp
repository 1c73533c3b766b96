// SPDX-License-Identifier: Apache-2.0
// The images that CRI-O protects from the kubelet's garbage collector: pinned_images of crio.conf(5), since
// CRI-O 1.28. They are in a file of ours, which a running CRI-O reloads since 1.30.
//
// CRI-O uses only the last file with such a list. If another file has one, ours is not written.
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
    /// CRI-O has `patience` to answer on its socket. `root` must outlive the object.
    explicit CrioPins(const base::Root& root, std::chrono::milliseconds patience = std::chrono::seconds(5))
        : root_(&root), patience_(patience) {}

    /// Reports whether CRI-O is on this host and no other file has such a list.
    [[nodiscard]] bool are_used() const;
    [[nodiscard]] base::Result<std::set<std::string>> names() const;
    /// Adds an image and makes CRI-O reload, if it runs and answers in time. Does nothing if the pins are not
    /// used.
    [[nodiscard]] base::Result<void> add(const std::string& name) const;
    /// Repeats an earlier notification that CRI-O did not receive. Does nothing if CRI-O is not on this host.
    [[nodiscard]] base::Result<void> notify() const;
    /// Keeps the images for which `is_wanted` returns true, or none if the pins are not used. Repeats earlier
    /// notifications too.
    [[nodiscard]] base::Result<void>
    retain(const std::function<bool(const std::string& name)>& is_wanted) const;

  private:
    [[nodiscard]] base::Result<void> write(const std::set<std::string>& names,
                                           const CrioReload& reload) const;

    const base::Root* root_;
    std::chrono::milliseconds patience_;
};

} // namespace gpuhost::images
