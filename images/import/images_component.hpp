// SPDX-License-Identifier: Apache-2.0
// The component "images": imports and removes bundles, and keeps the runtimes' and package managers' files in
// agreement with the catalogue. Its requests:
//   {"request": "import", "files": [name…], "allow-downgrade": bool}   with one descriptor for each file
//   {"request": "import", "files": [name], "unsigned": true, "name": "airgap", "image-name": "r.io/app:v1"}
//       one archive or layout; "name" and "image-name" are optional
//   {"request": "receive", "files": [name]}   with a pipe: a signed bundle from peers (blob_stream.hpp)
//   {"request": "remove", "name": "site-images"}
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/component.hpp"
#include "daemon/core/driver_filter.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace gpuhost::images {

class ImagesComponent : public core::Component {
  public:
    using AskDriverFilter = std::function<core::DriverFilter(const core::Settings&)>;

    /// `root` must outlive the object. `import_steps` are steps of other subsystems, such as the driver's.
    /// Each imports the artifacts of its subsystem from a received bundle. `driver_filter` returns which
    /// drivers of a bundle this host imports.
    ImagesComponent(const base::Root& root, std::vector<core::Step> import_steps,
                    AskDriverFilter driver_filter = {})
        : root_(root), import_steps_(std::move(import_steps)), driver_filter_(std::move(driver_filter)) {}

    [[nodiscard]] std::string_view name() const override { return "images"; }
    [[nodiscard]] base::Result<core::Observation> observe(const core::Settings& settings) override;
    [[nodiscard]] core::Plan plan(const core::Desired& desired,
                                  const core::Observation& observed) const override;
    [[nodiscard]] bool converge_at_start(const core::Observation&) const override { return false; }

  private:
    const base::Root& root_;
    std::vector<core::Step> import_steps_;
    AskDriverFilter driver_filter_;
};

} // namespace gpuhost::images
