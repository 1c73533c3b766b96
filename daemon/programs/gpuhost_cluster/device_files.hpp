// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/programs/gpuhost_cluster/node_devices.hpp"

#include <string>

namespace gpuhost {

/// Follows the offer of gpuhostd and the answer of gpuhost-devices (daemon/devices/offer.hpp).
class DeviceFiles {
  public:
    /// `root` must outlive this object.
    explicit DeviceFiles(const base::Root& root);

    /// Returns a descriptor that is readable after a change; -1 if the kernel has none left.
    [[nodiscard]] int descriptor() const { return watch_.get(); }
    /// Returns true once after a change.
    [[nodiscard]] bool changed();
    /// Watches the directories that exist now, and reads the files. A directory appears when its program
    /// starts, so this is called again from time to time.
    void refresh();

    [[nodiscard]] const DeviceFacts& facts() const { return facts_; }

  private:
    void follow(std::string_view directory) const;
    void note(const std::string& trouble);

    const base::Root& root_;
    base::UniqueFd watch_;
    DeviceFacts facts_;
    std::string trouble_; ///< the last logged reason why the offer can't be used
};

} // namespace gpuhost
