// SPDX-License-Identifier: Apache-2.0
// The component "toolkit" selects and configures one of NVIDIA's container toolkits, or none. Its requests:
//
//   {"request": "import", "files": [names]}     with their descriptors
//   {"request": "remove", "version": "1.18.1"}
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

namespace gpuhost::runtime {

class ToolkitComponent final : public core::Component {
  public:
    /// `root` must outlive the component.
    explicit ToolkitComponent(const base::Root& root) : root_(root) {}

    [[nodiscard]] std::string_view name() const override { return "toolkit"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    /// Returns true if the desired toolkit is already selected. Selecting another one, or none, requires a
    /// request.
    [[nodiscard]] bool converge_at_start(const core::Observation& observed) const override;

  private:
    const base::Root& root_;
};

} // namespace gpuhost::runtime
