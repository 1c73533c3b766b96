// SPDX-License-Identifier: Apache-2.0
// The component "mig" keeps MIG instances over restarts of the host, with KeepMig= in section [Devices]. It
// accepts no requests. Its plan for itself alone, as of 'gpuhostctl apply --only mig', keeps what the GPUs
// have now, and forgets what they lost.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

#include <utility>
#include <vector>

namespace gpuhost::devices {

class MigComponent final : public core::Component {
  public:
    /// `root` must outlive the component. `nodes` are steps of another subsystem that create device nodes;
    /// they run before instances are created, since NVML needs the nodes, and afterwards.
    MigComponent(const base::Root& root, std::vector<core::Step> nodes)
        : root_(root), nodes_(std::move(nodes)) {}

    [[nodiscard]] std::string_view name() const override { return "mig"; }
    /// Returns the following document. Asks no GPU.
    ///
    ///   {"keep": flag, "driver": version or "", "instances": [names of the driver's files],
    ///    "due": is_recreation_due(), "error": why the file can't be used, or "",
    ///    "kept": {"gpus": [{"uuid", "address", "devices": number}], "instances": […], "problems": […]}
    ///    or null}
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return true; }

  private:
    const base::Root& root_;
    std::vector<core::Step> nodes_;
};

} // namespace gpuhost::devices
