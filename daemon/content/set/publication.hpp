// SPDX-License-Identifier: Apache-2.0
// Moves sets (file_list.hpp) from a transaction's staging directory to their places in a store. A run that
// was interrupted at any point can be repeated or undone.
//
// The worker that parsed the input owned the staging directory, and may have left any file in it.
// claim_staging() therefore runs first. Afterwards a record of moves is trusted only if this process's user
// wrote it.
#pragma once

#include "daemon/base/root.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct Publication {
    std::map<std::string, std::string> places; ///< path in the staging directory → path in the store
    std::vector<std::string> added;            ///< paths in the store at which nothing existed before
};

/// Gives the staging directory to root, and denies access to others. Before the call, the worker that parsed
/// the input has ended with its whole cgroup.
[[nodiscard]] base::Result<void> claim_staging(const base::Root& root, const std::string& staging);

/// Returns what an earlier run passed to write_publication(); nullopt if none did, so that no set was moved.
[[nodiscard]] base::Result<std::optional<Publication>> read_publication(const base::Root& root,
                                                                        const std::string& staging);
/// Records the planned moves in the staging directory. Call before the first move: the record shows an undo
/// which sets in the store this transaction may have added.
[[nodiscard]] base::Result<Publication> write_publication(const base::Root& root, const std::string& staging,
                                                          std::map<std::string, std::string> places);

/// Seals the set at `from` and moves it to `to`. If an intact set is already at `to`, keeps that one and
/// marks it as the newest. Gives the same result if repeated after an interruption.
[[nodiscard]] base::Result<void> put_in_place(const base::Root& root, const std::string& from,
                                              const std::string& to,
                                              const std::function<bool(const std::string& path)>& is_intact);

/// Undoes a publication: moves the sets in Publication::added back into the staging directory. Removes
/// directories above them that become empty, up to `store`. Does nothing if nothing was published.
[[nodiscard]] base::Result<void> withdraw_publication(const base::Root& root, const std::string& staging,
                                                      std::string_view store);

} // namespace gpuhost::content
