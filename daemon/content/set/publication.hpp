// SPDX-License-Identifier: Apache-2.0
// Moves sets from a transaction's staging directory to their places in a store. A run that was interrupted
// anywhere can be repeated or undone.
//
// The staging directory belonged to its parser, which may have left anything in it. claim_staging() runs
// first; after that, only what we wrote ourselves counts.
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
    std::vector<std::string> added;            ///< of the latter, those where nothing was before
};

/// Makes the staging directory writable for root alone. The parser's worker has ended by then, with its whole
/// cgroup.
[[nodiscard]] base::Result<void> claim_staging(const base::Root& root, const std::string& staging);

/// Returns what an earlier run wrote. Returns nothing if no run wrote it; then no set was moved.
[[nodiscard]] base::Result<std::optional<Publication>> read_publication(const base::Root& root,
                                                                        const std::string& staging);
/// Records the places. Must precede the first move: from then on what is in a place may be ours.
[[nodiscard]] base::Result<Publication> write_publication(const base::Root& root, const std::string& staging,
                                                          std::map<std::string, std::string> places);

/// Seals the set and moves it. If an intact one is in its place already, makes that the newest. Gives the
/// same result after an interrupted run.
[[nodiscard]] base::Result<void> put_in_place(const base::Root& root, const std::string& from,
                                              const std::string& to,
                                              const std::function<bool(const std::string& path)>& is_intact);

/// Moves the added sets back into the staging directory, and removes directories above them that become
/// empty, up to `store`. For undo: also works if nothing was published.
[[nodiscard]] base::Result<void> withdraw_publication(const base::Root& root, const std::string& staging,
                                                      std::string_view store);

} // namespace gpuhost::content
