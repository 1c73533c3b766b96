// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/transaction/operation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::host {

inline constexpr std::string_view history_file = "/var/lib/gpuhost/history.json";

/// The history of driver changes. Kept operations supply their own entries. Others are in a file, to which
/// each is added before its journal is removed. So nothing is written twice, and a crash between the two
/// loses nothing.
class History {
  public:
    static constexpr std::size_t most = 200; ///< changes in the file; the oldest are dropped

    /// `root` must outlive it.
    explicit History(const base::Root& root) : root_(root) {}

    /// Adds an operation that is about to be removed. If the file can't be written, this is logged and the
    /// entry is lost.
    void keep(const Operation& operation) const;
    /// Returns the document that org.gpuhost1(5) describes, newest change first.
    [[nodiscard]] base::Json document(const std::vector<const Operation*>& kept,
                                      const std::string& boot_id) const;

  private:
    [[nodiscard]] base::Result<base::Json> read() const;

    const base::Root& root_;
};

/// Returns the operation's entry, or nullopt if it did not begin to change the driver.
[[nodiscard]] std::optional<base::Json> driver_change(const Operation& operation);

} // namespace gpuhost::host
