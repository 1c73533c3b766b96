// SPDX-License-Identifier: Apache-2.0
// The component "runtime" configures container runtimes to give GPUs to containers. Its requests:
//
//   {"request": "configure", "names": [...], "no-restart": bool}
//   {"request": "restore", "names": [...], "no-restart": bool}
//
// After a restore, apply does not change these runtimes until a request configures them again.
// Empty names mean all runtimes, even if [Runtime] names some.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

#include <functional>
#include <utility>

namespace gpuhost::runtime {

class RuntimeComponent final : public core::Component {
  public:
    /// Returns true if /etc/containerd/certs.d will contain a hosts.toml of gpuhost after all components have
    /// been applied.
    using AskHosts = std::function<bool(const core::Settings&)>;

    /// `root` must outlive the component.
    explicit RuntimeComponent(const base::Root& root, AskHosts will_have_hosts = {})
        : root_(root), will_have_hosts_(std::move(will_have_hosts)) {}

    [[nodiscard]] std::string_view name() const override { return "runtime"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    /// Returns true after an administrator has configured runtimes once: the installation of gpuhostd alone
    /// restarts nothing.
    [[nodiscard]] bool converge_at_start(const core::Observation& observed) const override {
        return base::bool_or(std::any_cast<const base::Json&>(observed), "known", false);
    }

  private:
    const base::Root& root_;
    AskHosts will_have_hosts_;
};

} // namespace gpuhost::runtime
