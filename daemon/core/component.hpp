// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/plan.hpp"
#include "daemon/core/settings.hpp"

#include <optional>
#include <string_view>

namespace gpuhost::core {

/// The desired configuration: the administrator's settings, and what one request adds to them.
struct Desired {
    const Settings& settings;
    /// Empty for plain apply, else the request to one component, by its name: {"driver": {"request": "swap",
    /// …}}. Only this component plans. Its requests are in its own header. A bad request becomes one of the
    /// plan's problems (InvalidArgument, NotFound, …).
    const base::Json& request;
    bool alone = false; ///< no other component's changes are part of the plan
    /// An earlier component changes the driver in the same plan and publishes the new one (steps_around.hpp).
    /// This component's observation of the driver is therefore stale.
    bool driver_changes = false;
};

/// A part of the host that is kept in its desired state. observe() reads the host, plan() is a pure function
/// of values. The observation is JSON, so that `status --json` shows what planning used, and a test can plan
/// for a recorded host.
class Component {
  public:
    virtual ~Component() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Reads the state of the host; the settings say what to examine. Runs in the daemon's loop: takes at
    /// most some milliseconds, does not wait, and does not parse foreign files.
    [[nodiscard]] virtual base::Result<base::Json> observe(const Settings& settings) = 0;
    [[nodiscard]] virtual Plan plan(const Desired& desired, const base::Json& observed) const = 0;
    /// Returns a plan that provides what plan() needs, for example built modules. The daemon runs it by
    /// itself at start, before the component converges. nullopt if there is nothing to do.
    [[nodiscard]] virtual std::optional<Plan> before_converging(const Settings& /*settings*/,
                                                                const base::Json& /*observed*/) const {
        return std::nullopt;
    }
    /// Returns true if the daemon applies this plan by itself at start (the driver of a freshly booted host).
    [[nodiscard]] virtual bool converge_at_start(const base::Json& observed) const = 0;
    /// Returns true if the daemon also applies the plan after a reboot interrupted this step, once the step's
    /// operation has ended. The step may have left a state that otherwise only a person's request changes.
    [[nodiscard]] virtual bool converge_after(const Step& /*interrupted*/,
                                              const base::Json& /*observed*/) const {
        return false;
    }
};

} // namespace gpuhost::core
