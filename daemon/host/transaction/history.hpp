// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/transaction/operation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::host {

inline constexpr std::string_view history_file = "/var/lib/gpuhost/history.json";

/// The history of driver changes. An operation that the runner still lists supplies its own entry. The
/// entries of all other operations are in a file. keep() adds an entry to the file before the operation's
/// journal is removed, so a crash between these two steps loses nothing. No entry is listed twice.
class History {
  public:
    static constexpr std::size_t most = 200; ///< changes in the file; the oldest are dropped

    /// `root` must outlive this object.
    explicit History(const base::Root& root) : root_(root) {}

    /// Adds the operation's entry to the file, if it changed the driver. If the file can't be written, that
    /// is logged and the entry is lost.
    void keep(const Operation& operation) const;
    /// Returns the entries of the file and of the operations `kept`, newest first, as org.gpuhost1(5)
    /// describes.
    [[nodiscard]] base::Json document(const std::vector<const Operation*>& kept,
                                      const std::string& boot_id) const;

  private:
    [[nodiscard]] base::Result<base::Json> read() const;

    const base::Root& root_;
};

/// Returns the operation's entry; nullopt if it never began to change the driver.
[[nodiscard]] std::optional<base::Json> driver_change(const Operation& operation);

} // namespace gpuhost::host
