// SPDX-License-Identifier: Apache-2.0
// Makes a running CRI-O reload its files (registries, and the list of pinned images) by SIGHUP.
//
// A program that changes such a file first creates the mark, a file in /run. The mark is removed after the
// signal was sent. The reload is therefore not lost if the program crashes, CRI-O is still starting, or a
// worker's sandbox forbids signals. gpuhost-images.service then sends the signal later.
#pragma once

#include "daemon/base/root.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view crio_directory = "/etc/crio";
constexpr std::string_view crio_socket = "/run/crio/crio.sock";

/// Holds a lock during a change of CRI-O's files, so that CRI-O is never signalled between two writes of one
/// change.
class CrioReload {
  public:
    /// Returns when the mark was created, in microseconds since 1970; 0 if there is none.
    [[nodiscard]] static std::uint64_t marked_us(const base::Root& root);
    /// Waits for the lock, which is on /etc/crio; fails if that directory is missing. `root` must outlive the
    /// result.
    [[nodiscard]] static base::Result<CrioReload> begin(const base::Root& root);
    /// Creates the mark. Call it before the change of a file.
    [[nodiscard]] base::Result<void> mark() const;
    /// Sends SIGHUP to CRI-O if there is a mark and CRI-O runs. Before that, waits at most `patience` for an
    /// answer on CRI-O's socket. Without an answer, fails with Timeout and keeps the mark.
    [[nodiscard]] base::Result<void> notify(std::chrono::milliseconds patience) const;

  private:
    CrioReload(const base::Root& root, base::UniqueFd lock) : root_(&root), lock_(std::move(lock)) {}
    const base::Root* root_;
    base::UniqueFd lock_;
};

} // namespace gpuhost::images
