// SPDX-License-Identifier: Apache-2.0
// How a running CRI-O comes to read its files anew, the registries' and the list of pins: it takes SIGHUP for that.
//
// Whoever changes one leaves a mark first, which is there until CRI-O has been told: a crash, a CRI-O that only just starts,
// or a worker that may signal nobody leaves it to the next that may, gpuhost-images.service.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view crio_directory = "/etc/crio";
constexpr std::string_view crio_socket = "/run/crio/crio.sock";

/// While there is one others wait, so that CRI-O is told of no half of a change.
class CrioReload {
  public:
    /// When the mark was left; 0 where there is nothing to tell.
    [[nodiscard]] static std::uint64_t marked_us(const base::Root& root);
    /// For a host that has /etc/crio. `root` must outlive it.
    [[nodiscard]] static base::Result<CrioReload> begin(const base::Root& root);
    [[nodiscard]] base::Result<void> mark() const;
    /// CRI-O has been told when it returns, if there was anything to tell and it runs. One that listens has `patience` to answer.
    [[nodiscard]] base::Result<void> tell(std::chrono::milliseconds patience) const;

  private:
    CrioReload(const base::Root& root, base::UniqueFd lock) : root_(&root), lock_(std::move(lock)) {}
    const base::Root* root_;
    base::UniqueFd lock_;
};

} // namespace gpuhost::images
