// SPDX-License-Identifier: Apache-2.0
// Starts workers as transient units, gpuhost-worker-<job>.service. systemd, not the daemon, gives each worker
// a sandbox, a cgroup and a deadline. systemd limits the total time of a worker's steps. The daemon limits
// the time of each step.
#pragma once

#include "daemon/host/bus_connection.hpp"
#include "daemon/host/worker/launcher.hpp"

#include <string>

namespace gpuhost::host {

/// Pauses before the daemon acts without a signal or a reply of systemd.
struct Patience {
    /// Time after a job's deadline until the daemon kills the unit itself; systemd's SIGKILL takes 10 s.
    std::chrono::microseconds overdue = std::chrono::seconds(30);
    std::chrono::microseconds again = std::chrono::seconds(5); ///< between two queries of the unit's state
};

class SystemdLauncher : public Launcher {
  public:
    /// Subscribes to systemd's signals. Event, root and bus must outlive the launcher and its workers.
    [[nodiscard]] static base::Result<std::unique_ptr<Launcher>>
    create(Event& event, const base::Root& root, sd_bus* bus, std::string program, Patience patience = {});

    [[nodiscard]] base::Result<std::unique_ptr<Worker>>
    start(const Launch& launch, std::span<const int> inputs, JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<std::unique_ptr<Worker>> recover(const Launch& launch,
                                                                JobCallbacks callbacks) override;
    [[nodiscard]] base::Result<Owner> owner(core::Sandbox sandbox) const override;

  private:
    SystemdLauncher(Event& event, const base::Root& root, sd_bus* bus, std::string program, Patience patience)
        : event_(event), root_(root), bus_(bus), program_(std::move(program)), patience_(patience) {}

    Event& event_;
    const base::Root& root_;
    sd_bus* bus_;
    std::string program_;
    Patience patience_;
};

} // namespace gpuhost::host
