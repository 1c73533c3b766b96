// SPDX-License-Identifier: Apache-2.0
// Gates of a rollout: queries to a Prometheus server. They must find nothing before a host begins its
// upgrade. Pure functions: they compute the request and evaluate its answer; gate_keeper.hpp sends it.
// https://prometheus.io/docs/prometheus/latest/querying/api/
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <compare>
#include <map>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// A gate is open while its query returns no series, or the number 0. Otherwise it is shut.
struct Gate {
    std::string name;
    std::string url;         ///< URL of the Prometheus, without a trailing slash
    std::string query;       ///< PromQL
    bool is_alerts = false;  ///< `query` selects alerts
    std::string authorities; ///< a file in gates_directory; empty: the system's authorities
    std::string token;       ///< a file in gates_directory; empty: no token is sent
    std::chrono::seconds interval{30};

    [[nodiscard]] auto operator<=>(const Gate&) const = default;
};

/// Parses {"name": "quiet", "url": "https://prometheus.site.example:9090", "alerts": [".*"], "ignoreAlerts":
/// ["Watchdog"]}, or the same with "query" in place of both. gpuhost-policy(5) describes all members.
[[nodiscard]] base::Result<Gate> parse_gate(const base::Json& value);

/// Returns the URL for the GET request.
[[nodiscard]] std::string gate_target(const Gate& gate);

/// Returns why the gate is shut, from an answer of its Prometheus; empty if the gate is open. `before` is the
/// reason from the previous answer. While this reason is still true, it is returned again, because each
/// waiting host writes the reason on its Node.
[[nodiscard]] std::string why_shut(const Gate& gate, unsigned status, std::string_view body,
                                   const std::string& before);
/// Returns why the gate is shut without an answer. `problem` is the reason why no answer was received.
[[nodiscard]] std::string why_shut(const Gate& gate, std::string_view problem);

/// Maps each gate that has a valid answer to the reason why it is shut; an empty reason: it is open.
using GateStates = std::map<Gate, std::string>;

} // namespace gpuhost::cluster
