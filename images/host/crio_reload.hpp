// SPDX-License-Identifier: Apache-2.0
// Makes a running CRI-O reload its files, those of registries and the list of pins, with SIGHUP.
//
// A program that changes one of them leaves a mark first, which stays until CRI-O is notified. The mark
// covers a crash, a CRI-O that is still starting, and a worker that may not send signals.
// gpuhost-images.service, the next program that may send them, then notifies CRI-O.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view crio_directory = "/etc/crio";
constexpr std::string_view crio_socket = "/run/crio/crio.sock";

/// A lock for changes of CRI-O's files. CRI-O is therefore never notified of half a change.
class CrioReload {
  public:
    /// Returns the time of the mark in microseconds since 1970; 0 if there is none.
    [[nodiscard]] static std::uint64_t marked_us(const base::Root& root);
    /// Waits for the lock. Needs a host with /etc/crio. `root` must outlive the result.
    [[nodiscard]] static base::Result<CrioReload> begin(const base::Root& root);
    [[nodiscard]] base::Result<void> mark() const;
    /// Notifies CRI-O, if there is a mark and CRI-O runs. Waits at most `patience` for its answer.
    [[nodiscard]] base::Result<void> notify(std::chrono::milliseconds patience) const;

  private:
    CrioReload(const base::Root& root, base::UniqueFd lock) : root_(&root), lock_(std::move(lock)) {}
    const base::Root* root_;
    base::UniqueFd lock_;
};

} // namespace gpuhost::images
