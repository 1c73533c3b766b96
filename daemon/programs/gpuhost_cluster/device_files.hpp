// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/programs/gpuhost_cluster/node_devices.hpp"

#include <cstdint>
#include <string>
#include <string_view>

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
    /// Watches the directories that exist now, and reads the files. The directory of the offer appears with
    /// the first one, so this is called again from time to time. A new directory of the answer is a change.
    void refresh();

    [[nodiscard]] const DeviceFacts& facts() const { return facts_; }

  private:
    int follow(std::string_view directory, std::uint32_t events) const;
    void read_answer();
    void read_offer();

    const base::Root& root_;
    base::UniqueFd watch_;
    int parent_ = -1; ///< the watch of the directory in which gpuhost-devices gets its own
    DeviceFacts facts_;
    std::string offer_trouble_;  ///< the last logged reason why the offer can't be used
    std::string answer_trouble_; ///< the same for the answer
};

} // namespace gpuhost
