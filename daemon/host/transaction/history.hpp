// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/transaction/operation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::host {

inline constexpr std::string_view history_file = "/var/lib/gpuhost/history.json";

/// What became of the driver: of operations that are kept, from these; of those that no longer are, from a file that each
/// enters before its journal is removed. So nothing is written twice, and a crash between the two loses nothing.
class History {
  public:
    static constexpr std::size_t most = 200; ///< changes in the file; the oldest go

    /// `root` must outlive it.
    explicit History(const base::Root& root) : root_(root) {}

    /// Takes in what is about to be forgotten. Where that can't be written it is logged, and lost.
    void keep(const Operation& operation) const;
    /// As org.gpuhost1(5) has it, the newest first.
    [[nodiscard]] base::Json document(const std::vector<const Operation*>& kept,
                                      const std::string& boot_id) const;

  private:
    [[nodiscard]] base::Result<base::Json> read() const;

    const base::Root& root_;
};

/// Its entry, if it began to change the driver.
[[nodiscard]] std::optional<base::Json> driver_change(const Operation& operation);

} // namespace gpuhost::host
