// SPDX-License-Identifier: Apache-2.0
// Workers as children of the daemon: for --root, rescue and tests. No sandbox; the deadline is the daemon's
// own.
#pragma once

#include "daemon/host/event.hpp"
#include "daemon/host/worker/launcher.hpp"

#include <string>

namespace gpuhost::host {

class DirectLauncher : public Launcher {
  public:
    enum class Fate {
        Survive,       ///< the daemon: the next one adopts them
        DieWithDaemon, ///< there is no next one that could find them
    };
    /// `program`: the worker's path. Event and root must outlive the launcher and its workers.
    DirectLauncher(Event& event, const base::Root& root, std::string program, Fate fate = Fate::Survive)
        : event_(event), root_(root), program_(std::move(program)), fate_(fate) {}

    [[nodiscard]] base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<std::unique_ptr<Worker>> adopt(const Launch& launch,
                                                              JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<Owner> owner(core::Sandbox sandbox) const override;

  private:
    Event& event_;
    const base::Root& root_;
    std::string program_;
    Fate fate_;
};

} // namespace gpuhost::host
