// SPDX-License-Identifier: Apache-2.0
// Queries the Prometheus servers of gates on behalf of the leader. Queries only gates that a host waits for,
// each at most once in its interval. An answer is valid for that interval.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/cluster/policy/gate.hpp"
#include "daemon/http/client.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

class GateKeeper {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `root` contains the files in gates_directory, and must outlive this object.
    GateKeeper(const base::Root& root, LogLine log_line);

    /// Sets the gates that are asked from now on, until the next call.
    void want(std::set<Gate> gates);
    void forget(); ///< drops the wanted gates and all answers
    [[nodiscard]] GateStates states() const;

    [[nodiscard]] std::optional<Time> due() const;
    [[nodiscard]] bool turn(); ///< returns true if states() has changed
    /// Returns a descriptor, or -1 while no gate has been asked. When it is readable, call turn().
    [[nodiscard]] int descriptor() const { return client_ ? client_->descriptor() : -1; }

  private:
    struct Known {
        std::optional<std::string> shut; ///< why the gate is shut; empty: it is open; nullopt: no answer yet
        Time answered{0};
        std::uint64_t request = 0; ///< request in flight; 0: none
    };

    [[nodiscard]] base::Result<std::uint64_t> ask(const Gate& gate);
    [[nodiscard]] base::Result<std::string> authorities(const Gate& gate) const;
    void handle(const http::Answer& answer);
    void record(const Gate& gate, Known& known, std::string shut);
    [[nodiscard]] static bool is_fresh(const Gate& gate, const Known& known);

    const base::Root& root_;
    LogLine log_;
    std::set<Gate> wanted_;
    std::map<Gate, Known> known_;
    bool changed_ = false;
    std::optional<http::Client> client_;
};

} // namespace gpuhost::cluster
