// SPDX-License-Identifier: Apache-2.0
// Which pods have a GPU though their specs do not say so: by what the host sees, and by claims of dynamic resource allocation.
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
    /// The pods whose processes hold the driver, by uid.
    using Holders = base::Result<std::set<std::string>>;

    /// `look` has the host look who they are, which answers by found(), at once or later. `changed`: mark() may know more
    /// now.
    GpuUsers(std::function<void()> look, std::function<void()> changed,
             std::function<void(const std::string&)> say);

    /// `api` is the kubelet's, and is asked until end().
    void begin(Api& api);
    /// Knows nothing any more, and wants to know nothing.
    void end();
    /// Sets holds_driver and uses_gpu of those of `pods` that have one. What is still to be known first; empty: nothing.
    [[nodiscard]] std::string mark(std::map<std::string, PodFacts>& pods);
    /// Whoever held the driver may be another now.
    void outdate();
    /// True when nothing has happened since the host looked. Else it looks again, and all are to be marked once more.
    [[nodiscard]] bool confirm();
    /// Why something is not known yet; empty: nothing is in the way.
    [[nodiscard]] std::string trouble() const;
    /// What is in the host's way may pass: it is asked again after a while, for good only while it is Busy.
    void found(Holders holders);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

  private:
    void look();
    void ask(const std::string& claim, std::string_view version);
    void answered(const std::string& claim, std::string_view version, const ApiAnswer& answer);

    struct Claim {
        enum class State { Asked, OfGpu, OfOther, Unallocated, Failed };
        State state = State::Asked;
        std::string trouble;       ///< why it failed
        Time again{0};             ///< when it failed
        std::optional<Time> since; ///< the server answers, but not with the claim
    };
    void failed(const std::string& path, Claim& claim, const ApiAnswer& answer);

    std::function<void()> look_;
    std::function<void()> changed_;
    std::function<void(const std::string&)> say_;
    Api* api_ = nullptr;
    std::map<std::string, Claim> claims_; ///< by their paths below the API's version
    std::optional<std::set<std::string>> holders_;
    bool looks_ = false;
    bool is_current_ = false; ///< nothing has happened since that look that could have changed what it sees
    unsigned failures_ = 0;   ///< in a row
    std::string trouble_;
    std::optional<Time> look_at_; ///< again
};

} // namespace gpuhost::cluster
