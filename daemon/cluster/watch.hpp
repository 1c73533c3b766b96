// SPDX-License-Identifier: Apache-2.0
// What a list of objects says, and from then on each change of it, whatever happens to the connection: listed once,
// watched from that version on, listed again only when the server no longer knows the version.
#pragma once

#include "daemon/cluster/api.hpp"
#include "daemon/cluster/backoff.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

struct WatchHandlers {
    std::function<void(std::vector<base::Json>&&)> on_list; ///< all there are: what is not in it is gone
    std::function<void(base::Json&&)> on_object;            ///< a new one, or one that changed
    std::function<void(base::Json&&)> on_gone;              ///< as it was last
    /// It is not up to date any more, and why; an error without a message: it is again.
    std::function<void(const base::Error&)> on_trouble;
};

class Watch {
  public:
    /// `collection` is a path, `selector` a part of its query, or empty. `api` outlives it.
    Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    [[nodiscard]] std::optional<Time> due() const { return due_; } ///< when turn() has something to do
    void turn();
    /// Now, whatever it waits for: the credentials are others.
    void retry();

  private:
    void list();
    void follow();
    void listed(ApiAnswer&& answer);
    void take(base::Json&& event);
    void followed(ApiAnswer&& answer);
    void later(const base::Error& why, std::optional<std::chrono::seconds> at_least = {});
    void up_to_date();

    Api& api_;
    std::string collection_;
    std::string selector_;
    WatchHandlers handlers_;
    Backoff backoff_;
    std::uint64_t request_ = 0; ///< 0: none runs
    std::string version_;       ///< from which to follow; empty: list first
    std::optional<Time> due_ = Time(0);
    Time began_{0}; ///< following
    bool troubled_ = true;
};

} // namespace gpuhost::cluster
