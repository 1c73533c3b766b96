// SPDX-License-Identifier: Apache-2.0
// The images that CRI-O protects from the kubelet's garbage collector: the list pinned_images of
// crio.conf(5), since CRI-O 1.28. The list of gpuhost is in a file of its own. Since 1.30, CRI-O reloads the
// file while it runs.
//
// If several files have such a list, CRI-O uses only the last one. gpuhost therefore writes no list if
// another file has one.
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
    /// `patience` is the longest wait for CRI-O's answer on its socket before each reload. `root` must
    /// outlive the object.
    explicit CrioPins(const base::Root& root, std::chrono::milliseconds patience = std::chrono::seconds(5))
        : root_(&root), patience_(patience) {}

    /// Reports whether gpuhost's list has an effect: CRI-O is on this host, and no other file has such a
    /// list.
    [[nodiscard]] bool are_used() const;
    /// Returns the images in gpuhost's list.
    [[nodiscard]] base::Result<std::set<std::string>> names() const;
    /// Adds an image to the list and makes CRI-O reload it, if CRI-O runs. Fails with Timeout if CRI-O does
    /// not answer; the list is written then. Does nothing if are_used() is false.
    [[nodiscard]] base::Result<void> add(const std::string& name) const;
    /// Makes CRI-O reload if an earlier change did not reach it. Does nothing if CRI-O is not on this host.
    [[nodiscard]] base::Result<void> notify() const;
    /// Removes the images for which `is_wanted` returns false from the list; all images if are_used() is
    /// false. Then does the same as notify().
    [[nodiscard]] base::Result<void>
    retain(const std::function<bool(const std::string& name)>& is_wanted) const;

  private:
    [[nodiscard]] base::Result<void> write(const std::set<std::string>& names,
                                           const CrioReload& reload) const;

    const base::Root* root_;
    std::chrono::milliseconds patience_;
};

} // namespace gpuhost::images
