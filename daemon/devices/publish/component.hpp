// SPDX-License-Identifier: Apache-2.0
// The component "devices" offers the GPUs to the kubelet. It accepts these requests, with a name of
// find_device() (documents.hpp):
//
//   {"devices": {"request": "mark", "device": name, "reason": text}}
//   {"devices": {"request": "clear", "device": name}}
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

namespace gpuhost::devices {

class DevicesComponent final : public core::Component {
  public:
    /// `root` must outlive the component.
    explicit DevicesComponent(const base::Root& root) : root_(root) {}

    [[nodiscard]] std::string_view name() const override { return "devices"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return true; }

  private:
    const base::Root& root_;
};

} // namespace gpuhost::devices
