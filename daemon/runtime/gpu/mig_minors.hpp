// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::runtime {

inline constexpr std::string_view mig_minors_file = "/proc/driver/nvidia-caps/mig-minors";

/// Maps MIG instances to the nodes /dev/nvidia-caps/nvidia-capN that grant access to them. A GPU is
/// identified by its minor.
class MigMinors {
  public:
    /// Parses the content of mig_minors_file. Fails with BadContent that names an invalid line.
    [[nodiscard]] static base::Result<MigMinors> parse(std::string_view text);

    /// Return the path of a node; nullopt if the file does not list the instance.
    [[nodiscard]] std::optional<std::string> of_gpu_instance(unsigned gpu, unsigned instance) const;
    [[nodiscard]] std::optional<std::string> of_compute_instance(unsigned gpu, unsigned gpu_instance,
                                                                 unsigned instance) const;

  private:
    [[nodiscard]] std::optional<std::string> node(const std::string& capability) const;

    std::map<std::string, std::uint64_t> minors_; ///< "gpu0/gi1/ci0/access" → N
};

} // namespace gpuhost::runtime
