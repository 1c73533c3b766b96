// SPDX-License-Identifier: Apache-2.0
// Starts workers as children of the daemon: for --root, rescue and tests. They have no sandbox, and the
// daemon kills them after the deadline.
#pragma once

#include "daemon/host/event.hpp"
#include "daemon/host/worker/launcher.hpp"

#include <string>

namespace gpuhost::host {

class DirectLauncher : public Launcher {
  public:
    enum class Fate {
        /// Workers outlive the daemon, and the next daemon recovers them.
        Survive,
        /// Workers die with the daemon: no later daemon could find them.
        DieWithDaemon,
    };
    /// `program` is the worker's path. Event and root must outlive the launcher and its workers.
    DirectLauncher(Event& event, const base::Root& root, std::string program, Fate fate = Fate::Survive)
        : event_(event), root_(root), program_(std::move(program)), fate_(fate) {}

    [[nodiscard]] base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<std::unique_ptr<Worker>> recover(const Launch& launch,
                                                                JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<Owner> owner(core::Sandbox sandbox) const override;

  private:
    Event& event_;
    const base::Root& root_;
    std::string program_;
    Fate fate_;
};

} // namespace gpuhost::host
