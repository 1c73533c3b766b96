// SPDX-License-Identifier: Apache-2.0
// Gates of a rollout: what a Prometheus has to say, or rather not to say, before a host begins. Pure: what to ask, and what
// an answer means. gate_keeper.hpp asks. https://prometheus.io/docs/prometheus/latest/querying/api/
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <compare>
#include <map>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// Whatever its query finds shuts it.
struct Gate {
    std::string name;
    std::string url;         ///< of the Prometheus, without a slash at its end
    std::string query;       ///< PromQL
    bool is_alerts = false;  ///< the query is one for alerts
    std::string authorities; ///< a file in gates_directory; empty: the system's count
    std::string token;       ///< likewise; empty: none is shown
    std::chrono::seconds interval{30};

    [[nodiscard]] auto operator<=>(const Gate&) const = default;
};

/// {"name": "quiet", "url": "https://prometheus.site.example:9090", "alerts": [".*"], "ignoreAlerts": ["Watchdog"]}, or with
/// "query" in place of both. gpuhost-policy(5) has the rest.
[[nodiscard]] base::Result<Gate> parse_gate(const base::Json& value);

/// The URL that a GET is to go to.
[[nodiscard]] std::string gate_target(const Gate& gate);

/// Why the gate is shut, by an answer of its Prometheus; empty: it is open. `before`: what was said of the last answer. It
/// is said again as long as it is true, since many hosts write down what they wait for.
[[nodiscard]] std::string why_shut(const Gate& gate, unsigned status, std::string_view body,
                                   const std::string& before);
/// The same where there was none.
[[nodiscard]] std::string why_shut(const Gate& gate, std::string_view problem);

/// Of each gate whose answer counts now why it is shut; empty: it is open.
using GateStates = std::map<Gate, std::string>;

} // namespace gpuhost::cluster
