// SPDX-License-Identifier: Apache-2.0
// Finds the pods that use a GPU although their specs do not request one. Sources: the processes that the host
// sees, and the claims of dynamic resource allocation.
// https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
#pragma once

#include "daemon/cluster/kube/api.hpp"
#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/cluster/upgrade/pods.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

class GpuUsers {
  public:
    /// UIDs of the pods whose processes use the driver.
    using Holders = base::Result<std::set<std::string>>;

    /// `query` starts a search on the host for the processes that use the driver; found() receives its
    /// result, at once or later. `changed` is called when mark() may return a newer result.
    GpuUsers(std::function<void()> query, std::function<void()> changed,
             std::function<void(const std::string&)> log_line);

    /// Starts to read resource claims with `api`, which has the kubelet's credentials. `api` must stay valid
    /// until end().
    void begin(Api& api);
    /// Forgets all results and stops asking.
    void end();
    /// Sets holds_driver and uses_gpu in `pods`. Returns what is not known yet, as text; empty: all is known.
    [[nodiscard]] std::string mark(std::map<std::string, PodFacts>& pods);
    /// Marks the result of the last search as outdated, and forgets claims that were not allocated yet.
    /// Called before pods are evicted.
    void outdate();
    /// Returns true if the result of the last search is up to date. Otherwise starts a new search, and mark()
    /// must be called again.
    [[nodiscard]] bool confirm();
    /// Returns the error of the last search, or of a claim that is still unread; empty if there is none.
    [[nodiscard]] std::string trouble() const;
    /// Receives the result of `query`. After an error, searches again later: any number of times while the
    /// error is Busy, otherwise a limited number of times in a row.
    void found(Holders holders);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

  private:
    void query();
    void ask(const std::string& claim, std::string_view version);
    void answered(const std::string& claim, std::string_view version, const ApiAnswer& answer);

    struct Claim {
        enum class State { Asked, OfGpu, OfOther, Unallocated, Failed };
        State state = State::Asked;
        std::string trouble;       ///< why the request failed
        Time again{0};             ///< when to ask again after a failure
        std::optional<Time> since; ///< since when the server has answered with errors only
    };
    void failed(const std::string& path, Claim& claim, const ApiAnswer& answer);

    std::function<void()> query_;
    std::function<void()> changed_;
    std::function<void(const std::string&)> log_;
    Api* api_ = nullptr;
    std::map<std::string, Claim> claims_; ///< keyed by the path below the API version
    std::optional<std::set<std::string>> holders_;
    bool querying_ = false;
    bool is_current_ = false; ///< no pod was asked to leave since the last search
    unsigned failures_ = 0;   ///< failed searches in a row
    std::string last_error_;
    std::optional<Time> query_at_; ///< when to search again after an error
};

} // namespace gpuhost::cluster
