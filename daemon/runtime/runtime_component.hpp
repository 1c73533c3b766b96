// SPDX-License-Identifier: Apache-2.0
// The component "runtime": container runtimes, configured so that containers get GPUs. Its requests:
//
//   {"request": "configure", "names": [...], "no-restart": bool}
//   {"request": "restore", "names": [...], "no-restart": bool}    names empty: all, also where [Runtime] names some;
//                                                                 apply leaves them so until they are configured again
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"

namespace gpuhost::runtime {

class RuntimeComponent final : public core::Component {
  public:
    /// `root` must outlive it.
    explicit RuntimeComponent(const base::Root& root) : root_(root) {}

    [[nodiscard]] std::string_view name() const override { return "runtime"; }
    [[nodiscard]] base::Result<base::Json> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired, const base::Json& observed) const override;
    /// Once a person has had it done: to install gpuhostd restarts nothing.
    [[nodiscard]] bool converge_at_start(const base::Json& observed) const override {
        return base::bool_or(observed, "is_known", false);
    }

  private:
    const base::Root& root_;
};

} // namespace gpuhost::runtime
