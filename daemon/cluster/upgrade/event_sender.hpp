// SPDX-License-Identifier: Apache-2.0
// Creates Kubernetes events about this host's Node, one at a time and in order. Retries while the server is
// busy or not reachable. An event with the same key is sent at most once in five minutes. This protects the
// server if another client keeps undoing the host's changes.
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
    ~EventSender() = default;

    /// Sends an event of the upgrade. Its key has the attempt and the text.
    void send(const UpgradeNode& node, const UpgradeEvent& event);
    void send(std::string key, base::Json event);

    [[nodiscard]] std::optional<Time> due() const { return due_; }
    void turn();
    void retry(); ///< retries at once; called when the credentials have changed

  private:
    void create();
    void answered(const ApiAnswer& answer);

    Api& api_;
    LogLine log_;
    Backoff backoff_;
    struct Queued {
        std::string text; ///< key in `sent_at_`
        base::Json event;
    };
    std::deque<Queued> queue_; ///< the first event is being sent
    unsigned tries_ = 0;       ///< tries of the first event in the queue
    bool asks_ = false;
    std::optional<Time> due_;
    std::map<std::string, Time> sent_at_; ///< text → when the event was queued; removed if the event is lost
    std::string logged_;                  ///< the last logged reason why events were lost
};

} // namespace gpuhost::cluster
