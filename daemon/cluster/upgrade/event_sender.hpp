// SPDX-License-Identifier: Apache-2.0
// Creates the events of this host's upgrade, one at a time and in order. Retries while the server is busy or
// unreachable. Creates the same text of the same attempt at most once in five minutes. This protects the
// server when someone keeps undoing the host's changes.
#pragma once

#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class EventSender {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `api` must outlive the sender.
    EventSender(Api& api, LogLine log_line);
    EventSender(const EventSender&) = delete;
    EventSender& operator=(const EventSender&) = delete;

    void send(const UpgradeNode& node, const UpgradeEvent& event);

    [[nodiscard]] std::optional<Time> due() const { return due_; }
    void turn();
    void retry(); ///< retries at once, with the new credentials

  private:
    void create();
    void answered(const ApiAnswer& answer);

    Api& api_;
    LogLine log_;
    Backoff backoff_;
    struct Queued {
        std::string text; ///< key in `told_`
        base::Json event;
    };
    std::deque<Queued> queue_; ///< the first one is being sent
    unsigned tries_ = 0;       ///< tries of the first one
    bool asks_ = false;
    std::optional<Time> due_;
    std::map<std::string, Time> sent_at_; ///< text → when it was queued; lost events are removed
    std::string logged_;                  ///< the last logged reason for lost events
};

} // namespace gpuhost::cluster
