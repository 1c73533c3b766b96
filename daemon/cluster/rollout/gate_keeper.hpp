// SPDX-License-Identifier: Apache-2.0
// Asks gates, on behalf of the leader: only those that somebody waits for, and each at most once in its interval, for so
// long its answer counts.
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
    using Say = std::function<void(const std::string& line)>;

    /// `root`, where authorities and tokens are, outlives it.
    GateKeeper(const base::Root& root, Say say);

    /// From now on, until it is told of others.
    void want(std::set<Gate> gates);
    void forget(); ///< whatever it knows, too
    [[nodiscard]] GateStates states() const;

    [[nodiscard]] std::optional<Time> due() const;
    [[nodiscard]] bool turn(); ///< true: states() says something else
    /// Readable: call turn(). -1: none has been asked yet.
    [[nodiscard]] int descriptor() const { return client_ ? client_->descriptor() : -1; }

  private:
    struct Known {
        std::optional<std::string> shut; ///< none: it has not answered yet
        Time answered{0};
        std::uint64_t request = 0; ///< that is under way
    };

    [[nodiscard]] base::Result<std::uint64_t> ask(const Gate& gate);
    [[nodiscard]] base::Result<std::string> authorities(const Gate& gate) const;
    void take(const http::Answer& answer);
    void settle(const Gate& gate, Known& known, std::string shut);
    [[nodiscard]] static bool is_fresh(const Gate& gate, const Known& known);

    const base::Root& root_;
    Say say_;
    std::set<Gate> wanted_;
    std::map<Gate, Known> known_;
    bool changed_ = false;
    std::optional<http::Client> client_;
};

} // namespace gpuhost::cluster
