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
    /// UIDs of the pods whose processes hold the driver.
    using Holders = base::Result<std::set<std::string>>;

    /// `look` starts a search for the holders on the host; found() receives the result, at once or later.
    /// `changed` is called when mark() may know more.
    GpuUsers(std::function<void()> query, std::function<void()> changed,
             std::function<void(const std::string&)> log_line);

    /// Starts asking `api`, which connects with the kubelet's credentials. `api` must stay valid until end().
    void begin(Api& api);
    /// Forgets all results and stops asking.
    void end();
    /// Sets holds_driver and uses_gpu of the pods that do. Returns what is still unknown; empty: nothing.
    [[nodiscard]] std::string mark(std::map<std::string, PodFacts>& pods);
    /// Marks the holders as outdated, and forgets the claims that were not allocated yet.
    void outdate();
    /// Returns true when nothing has changed since the last look. Otherwise looks again, and mark() must be
    /// called again.
    [[nodiscard]] bool confirm();
    /// Returns why something is still unknown; empty: no problem.
    [[nodiscard]] std::string trouble() const;
    /// Receives the result of `look`. After an error, looks again later: without a limit while the error is
    /// Busy, otherwise up to a number of failures in a row.
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
        std::optional<Time> since; ///< since when the server answers, but not with the claim
    };
    void failed(const std::string& path, Claim& claim, const ApiAnswer& answer);

    std::function<void()> query_;
    std::function<void()> changed_;
    std::function<void(const std::string&)> log_;
    Api* api_ = nullptr;
    std::map<std::string, Claim> claims_; ///< keyed by path below the API version
    std::optional<std::set<std::string>> holders_;
    bool querying_ = false;
    bool is_current_ = false; ///< nothing has changed the holders since the last look
    unsigned failures_ = 0;   ///< failures in a row
    std::string last_error_;
    std::optional<Time> query_at_; ///< when to look again
};

} // namespace gpuhost::cluster
