// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/plan.hpp"
#include "daemon/core/settings.hpp"

#include <any>
#include <optional>
#include <string_view>

namespace gpuhost::core {

/// The input of Component::plan() besides the observation: the settings, and at most one request.
struct Desired {
    const Settings& settings;
    /// An empty object if the whole configuration is applied. Otherwise {COMPONENT: REQUEST}, such as
    /// {"driver": {"request": "swap", …}}, and only that component plans. The header of each component lists
    /// its requests. For an invalid request, plan() returns a problem (InvalidArgument, NotFound, …).
    const base::Json& request;
    /// True: plan for the present state of the other components. False: earlier components of the same plan
    /// bring their parts of the host to the desired state first.
    bool alone = false;
    /// True if an earlier component of the same plan changes the driver. The observed driver is then stale.
    /// The driver's plan already includes the steps that publish the new driver (steps_around.hpp).
    bool driver_changes = false;
    /// True if a client has named this component, and no other, without a request.
    bool named = false;
    /// True if an earlier component of the same plan creates devices of GPUs. A published list of devices is
    /// then stale, although it fits what was observed.
    bool creates_devices = false;
};

/// The state that a component observed: a value of a type that only the component uses.
using Observation = std::any;

/// A part of the host that is kept in its desired state, such as the driver. observe() reads the host, plan()
/// is a pure function of values.
class Component {
  public:
    virtual ~Component() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Reads the state of the host; the settings select what to read. Runs in the daemon's loop: returns
    /// within some milliseconds, does not wait, and does not parse files of other programs.
    [[nodiscard]] virtual base::Result<Observation> observe(const Settings& settings) = 0;
    /// Returns the observation for `status --json`. By default it is JSON already.
    [[nodiscard]] virtual base::Json document(const Observation& observed) const {
        return std::any_cast<const base::Json&>(observed);
    }
    [[nodiscard]] virtual Plan plan(const Desired& desired, const Observation& observed) const = 0;
    /// Returns a plan that creates what plan() needs but can't create, for example kernel modules that must
    /// be built. The daemon runs it automatically at start, before it applies plan(). nullopt if nothing is
    /// needed.
    [[nodiscard]] virtual std::optional<Plan> before_converging(const Settings& /*settings*/,
                                                                const Observation& /*observed*/) const {
        return std::nullopt;
    }
    /// Returns true if the daemon applies plan() automatically at start and after a failed operation.
    /// Example: no driver is loaded after a boot.
    [[nodiscard]] virtual bool converge_at_start(const Observation& observed) const = 0;
    /// Called when an operation that a reboot interrupted has ended, once for each of its steps that had
    /// begun before the reboot. Such a step may have left a state that otherwise only an administrator's
    /// request changes. Returns true if the daemon then applies plan() automatically, even if
    /// converge_at_start() returns false.
    [[nodiscard]] virtual bool converge_after(const Step& /*interrupted*/,
                                              const Observation& /*observed*/) const {
        return false;
    }
};

} // namespace gpuhost::core
