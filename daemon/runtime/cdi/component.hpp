// SPDX-License-Identifier: Apache-2.0
// The component "cdi" describes the driver to container runtimes and to NVIDIA's operands (validations.hpp).
// It has no requests.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

#include <utility>
#include <vector>

namespace gpuhost::runtime {

class CdiComponent final : public core::Component {
  public:
    /// `root` must outlive it. `before` holds steps of another subsystem that must run first: device nodes
    /// must exist.
    CdiComponent(const base::Root& root, std::vector<core::Step> before)
        : root_(root), before_(std::move(before)) {}

    [[nodiscard]] std::string_view name() const override { return "cdi"; }
    [[nodiscard]] base::Result<base::Json> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired, const base::Json& observed) const override;
    [[nodiscard]] bool converge_at_start(const base::Json&) const override { return true; }

  private:
    const base::Root& root_;
    std::vector<core::Step> before_;
};

} // namespace gpuhost::runtime
