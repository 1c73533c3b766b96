// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/plan.hpp"
#include "daemon/core/settings.hpp"

#include <optional>
#include <string_view>

namespace gpuhost::core {

/// What is wanted: the administrator's settings, and what one request asks for beyond them.
struct Desired {
    const Settings& settings;
    /// Empty for plain apply, else what is asked of one component, by its name: {"driver": {"request": "swap", …}}.
    /// Only that one is asked. Its requests are in its own header.
    /// What is wrong with a request itself comes back as one of the plan's problems (InvalidArgument, NotFound, …).
    const base::Json& request;
    bool alone = false; ///< nothing that another component wants is done with it
    /// Components before this one change the driver in the same plan, and tell of the new one: what this one saw of the
    /// driver will not hold.
    bool driver_changes = false;
};

/// One thing kept in its wanted state. observe reads the truth, plan is a pure function of values: JSON at
/// this border, so that `status --json` shows what planning saw and a recorded host can be planned for in a
/// test.
class Component {
  public:
    virtual ~Component() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// In the daemon's loop: at most some milliseconds, no parsing of foreign files, no waiting. The settings say
    /// what to look at.
    [[nodiscard]] virtual base::Result<base::Json> observe(const Settings& settings) = 0;
    [[nodiscard]] virtual Plan plan(const Desired& desired, const base::Json& observed) const = 0;
    /// What has to be done before plan() finds what it needs, and can be done without a person: at start, and before it
    /// converges. Nothing if that is nothing.
    [[nodiscard]] virtual std::optional<Plan> before_converging(const Settings& /*settings*/,
                                                                const base::Json& /*observed*/) const {
        return std::nullopt;
    }
    /// Should the daemon apply this plan by itself at start (the driver of a freshly booted host)?
    [[nodiscard]] virtual bool converge_at_start(const base::Json& observed) const = 0;
    /// The same where a boot cut off this step, which was begun, and its operation has ended by now: it may have left what
    /// otherwise only a person makes.
    [[nodiscard]] virtual bool converge_after(const Step& /*interrupted*/,
                                              const base::Json& /*observed*/) const {
        return false;
    }
};

} // namespace gpuhost::core
