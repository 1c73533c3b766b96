// SPDX-License-Identifier: Apache-2.0
// Creates events of this host's upgrade, one at a time and in their order, and again where the server was busy or away.
// One text of one attempt is created once in five minutes: whoever undoes what a host does must not fill the server.
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
    using Say = std::function<void(const std::string& line)>;

    /// `api` outlives it.
    EventSender(Api& api, Say say);
    EventSender(const EventSender&) = delete;
    EventSender& operator=(const EventSender&) = delete;

    void send(const UpgradeNode& node, const UpgradeEvent& event);

    [[nodiscard]] std::optional<Time> due() const { return due_; }
    void turn();
    void retry(); ///< now: the credentials are others

  private:
    void create();
    void answered(const ApiAnswer& answer);

    Api& api_;
    Say say_;
    Backoff backoff_;
    struct Queued {
        std::string text; ///< its key in `told_`
        base::Json event;
    };
    std::deque<Queued> queue_; ///< the first one is being sent
    unsigned tries_ = 0;       ///< of the first one
    bool asks_ = false;
    std::optional<Time> due_;
    std::map<std::string, Time> told_; ///< text → when it was queued; a lost one is not here
    std::string said_;                 ///< why events were lost, as it was logged last
};

} // namespace gpuhost::cluster
