// SPDX-License-Identifier: Apache-2.0
// The component "cdi" publishes CDI specifications of the driver for container runtimes, and the status files
// for NVIDIA's Kubernetes operands (validations.hpp). It accepts no requests.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

#include <utility>
#include <vector>

namespace gpuhost::runtime {

class CdiComponent final : public core::Component {
  public:
    /// `root` must outlive the component. `before` are steps of another subsystem that create missing device
    /// nodes; they run before specifications are written.
    CdiComponent(const base::Root& root, std::vector<core::Step> before)
        : root_(root), before_(std::move(before)) {}

    [[nodiscard]] std::string_view name() const override { return "cdi"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return true; }

  private:
    const base::Root& root_;
    std::vector<core::Step> before_;
};

} // namespace gpuhost::runtime
