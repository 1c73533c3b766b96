// SPDX-License-Identifier: Apache-2.0
// Reports all objects of a collection, and then every change, even if connections break. Lists the collection
// once, in pages, and watches from the list's resourceVersion. Lists again only if the server no longer has
// that version.
#pragma once

#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// Returns the selector of a Watch for the object with this name.
[[nodiscard]] std::string name_selector(std::string_view name);
/// Returns the object's metadata.name; empty if it is missing.
[[nodiscard]] std::string object_name(const base::Json& object);

struct WatchHandlers {
    std::function<void(base::Json&&)> on_object; ///< an existing object: listed, new or changed
    /// Called after a complete list, with the names of all objects (namespace/name if the collection spans
    /// namespaces). An object that is not among them no longer exists.
    std::function<void(const std::set<std::string>& names)> on_listed;
    std::function<void(base::Json&&)> on_gone; ///< a deleted object, in its last state
    /// Called with an error when the reported objects may be out of date. Called with an error without a
    /// message when they are up to date again.
    std::function<void(const base::Error&)> on_trouble;
};

class Watch {
  public:
    enum class Begin {
        Listed, ///< lists first; on_listed then shows which objects no longer exist
        /// Saves one request: does not list first. The server sends the existing objects, but on_listed is
        /// not called.
        FromVersion,
    };

    /// `collection` is a path; `selector` is a part of its query, or empty. `api` must outlive this object.
    Watch(Api& api, std::string collection, std::string selector, WatchHandlers handlers,
          Begin begin = Begin::Listed);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    [[nodiscard]] std::optional<Time> due() const { return due_; } ///< when to call turn()
    void turn();
    /// Retries at once, without any wait. Called when the credentials have changed.
    void retry();
    /// Lists all objects again.
    void list_anew();
    /// Returns true while on_object is called for an object from a list. A list is the state on the server,
    /// even if earlier events had later versions.
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
    bool from_version_; ///< Begin::FromVersion was requested, and no list was needed so far
    std::optional<Time> due_ = Time(0);
    std::optional<Time> began_; ///< while watching: when the server accepted the watch
    std::optional<Time> heard_; ///< while watching: when the server last sent anything
    bool listing_ = false;
    bool troubled_ = true;
};

} // namespace gpuhost::cluster
