// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/component.hpp"
#include "kmod/plan/driver_plan.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace gpuhost::kmod {

/// The component "driver": loads and selects drivers, and manages the driver store. Its requests:
///   {"request": "swap", "version": "550.163.01", "holders": "wait", "holder-timeout-usec": 30000000}
///   {"request": "rollback"}, with the same two options
///   {"request": "import", "files": ["a.deb", …]}, with the inputs in that order
///   {"request": "build", "version": … or absent for the one in use,
///    "kernels": [… or empty for the running one], "again": bool, "all-kernels": bool}
///   {"request": "clean"}
///   {"request": "select", "version": … or absent, "kernels": [… or empty for all but the running one]}
///   {"request": "deselect"}
///   {"request": "remove", "version": …}
///   {"request": "verify", "version": … or absent for all}
class DriverComponent final : public core::Component {
  public:
    using AskSteps = std::function<core::StepsAround(const core::Settings&)>;

    /// `root` must outlive the object. `around` returns the steps of other subsystems for a plan that changes
    /// the driver.
    explicit DriverComponent(const base::Root& root, AskSteps around = {})
        : root_(root), around_(std::move(around)) {}

    [[nodiscard]] std::string_view name() const override { return "driver"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] base::Json document(const core::Observation& observed) const override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    [[nodiscard]] std::optional<core::Plan>
    before_converging(const core::Settings& settings, const core::Observation& observed) const override;
    [[nodiscard]] bool converge_at_start(const core::Observation& observed) const override;
    /// Returns whether to plan `apply` after an interrupted operation was undone. This is needed if a reboot
    /// interrupted driver.select for the running kernel: the host may have booted the new driver before the
    /// undo selected the previous one again.
    [[nodiscard]] bool converge_after(const core::Step& interrupted,
                                      const core::Observation& observed) const override {
        return interrupted.kind == "driver.select" && base::string_or(interrupted.args, "kernel", "") ==
                                                          std::any_cast<const Observed&>(observed).kernel;
    }

  private:
    const base::Root& root_;
    AskSteps around_;
};

} // namespace gpuhost::kmod
