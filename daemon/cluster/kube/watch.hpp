// SPDX-License-Identifier: Apache-2.0
// Reports a list of objects and then every change, across broken connections. Lists once, in pages, and
// watches from that version. Lists again only when the server no longer knows the version.
#pragma once

#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

struct WatchHandlers {
    std::function<void(base::Json&&)> on_object; ///< an existing object: listed, new or changed
    /// Receives the names of all listed objects (namespace/name if the collection spans namespaces). Any
    /// object that is not among them is gone.
    std::function<void(const std::set<std::string>& names)> on_listed;
    std::function<void(base::Json&&)> on_gone; ///< the object in its last state
    /// Receives the error when the data is not up to date any more. An error without a message: it is up to
    /// date again.
    std::function<void(const base::Error&)> on_trouble;
};

class Watch {
  public:
    enum class Begin {
        Listed, ///< reports absent objects, too
        /// Saves one request. Reports existing objects first, but not which ones are absent.
        FromVersion,
    };

    /// `collection` is a path; `selector` is a part of its query, or empty. `api` must outlive it.
    Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers,
          Begin begin = Begin::Listed);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    [[nodiscard]] std::optional<Time> due() const { return due_; } ///< when to call turn()
    void turn();
    /// Retries at once, without any wait, with the new credentials.
    void retry();
    /// Lists all objects again.
    void list_anew();
    /// Returns whether on_object is called for a listed object: its state on the server, independent of
    /// earlier events.
    [[nodiscard]] bool is_listing() const { return listing_; }

  private:
    void list();
    void follow();
    void listed(ApiAnswer&& answer);
    void list_again();
    void handle(base::Json&& event);
    void followed(ApiAnswer&& answer);
    void later(const base::Error& why, std::optional<std::chrono::seconds> at_least = {});
    void up_to_date();

    Api& api_;
    std::string collection_;
    std::string selector_;
    WatchHandlers handlers_;
    Backoff backoff_;
    std::uint64_t request_ = 0; ///< request in flight; 0: none
    std::string version_;       ///< version to watch from; empty: list first
    std::string continue_;      ///< token of the next page
    unsigned page_;             ///< objects per page
    std::set<std::string> names_;
    bool from_version_; ///< Begin::AsTold, and not listed yet
    std::optional<Time> due_ = Time(0);
    std::optional<Time> began_; ///< while watching: when the server accepted the watch
    std::optional<Time> heard_; ///< while watching: when the server last sent anything
    bool listing_ = false;
    bool troubled_ = true;
};

} // namespace gpuhost::cluster
