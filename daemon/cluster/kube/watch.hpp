// SPDX-License-Identifier: Apache-2.0
// What a list of objects says, and from then on each change of it, whatever happens to the connection: listed once, a page
// at a time, watched from that version on, listed again only when the server no longer knows the version.
#pragma once

#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

struct WatchHandlers {
    std::function<void(base::Json&&)> on_object; ///< one that there is: listed, new or changed
    /// All that were listed, by their names (namespace/name where the collection spans namespaces): what is not among
    /// them is gone.
    std::function<void(const std::set<std::string>& names)> on_listed;
    std::function<void(base::Json&&)> on_gone; ///< as it was last
    /// It is not up to date any more, and why; an error without a message: it is again.
    std::function<void(const base::Error&)> on_trouble;
};

class Watch {
  public:
    enum class Begin {
        Listed, ///< what is not there is known, too
        AsTold, ///< one call less: what there is comes first, what there is not is not said
    };

    /// `collection` is a path, `selector` a part of its query, or empty. `api` outlives it.
    Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers,
          Begin begin = Begin::Listed);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    [[nodiscard]] std::optional<Time> due() const { return due_; } ///< when turn() has something to do
    void turn();
    /// Now, whatever it waits for: the credentials are others.
    void retry();
    /// What there is is asked for once more.
    void list_anew();
    /// An object that on_object is given now was listed: it is as the server has it, whatever was told before.
    [[nodiscard]] bool is_listing() const { return listing_; }

  private:
    void list();
    void follow();
    void listed(ApiAnswer&& answer);
    void list_again();
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
    std::string continue_;      ///< of the next page
    unsigned page_;             ///< objects that are asked for at a time
    std::set<std::string> names_;
    bool as_told_; ///< nothing has been asked yet that says from where to follow
    std::optional<Time> due_ = Time(0);
    std::optional<Time> began_; ///< following: the server has taken it
    std::optional<Time> heard_; ///< following: when the server said anything last
    bool listing_ = false;
    bool troubled_ = true;
};

} // namespace gpuhost::cluster
