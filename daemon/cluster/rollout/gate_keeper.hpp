// SPDX-License-Identifier: Apache-2.0
// Asks gates on behalf of the leader. Asks only gates that a host waits for, each at most once in its
// interval. An answer is valid for that interval.
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

    /// `root` contains the authorities and tokens, and must outlive it.
    GateKeeper(const base::Root& root, LogLine log_line);

    /// Asks these gates from now on, until the next call.
    void want(std::set<Gate> gates);
    void forget(); ///< drops the wanted gates and all answers
    [[nodiscard]] GateStates states() const;

    [[nodiscard]] std::optional<Time> due() const;
    [[nodiscard]] bool turn(); ///< returns whether states() has changed
    /// Returns a descriptor: when it is readable, call turn(). -1: no gate has been asked yet.
    [[nodiscard]] int descriptor() const { return client_ ? client_->descriptor() : -1; }

  private:
    struct Known {
        std::optional<std::string> shut; ///< why it is shut; empty: open; none: no answer yet
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
