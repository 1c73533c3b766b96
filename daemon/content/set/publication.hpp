// SPDX-License-Identifier: Apache-2.0
// Sets on their way from a transaction's staging directory to their places in a store: so that a run that was interrupted
// anywhere can be run again, or undone.
//
// The staging directory was its parser's, who may have left anything in it: take_over() comes first, and only what we wrote
// ourselves counts from then on.
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
    std::map<std::string, std::string> places; ///< where a set was staged → where it goes
    std::vector<std::string> added;            ///< of the latter those where nothing was before
};

/// From here on nobody but root writes in the staging directory: the parser's worker is gone with its whole cgroup.
[[nodiscard]] base::Result<void> take_over(const base::Root& root, const std::string& staging);

/// What a run before this one wrote; nothing where none came as far, and then nothing has been moved.
[[nodiscard]] base::Result<std::optional<Publication>> read_publication(const base::Root& root,
                                                                        const std::string& staging);
/// Before the first set moves: from then on what is in its place may be ours.
[[nodiscard]] base::Result<Publication> write_publication(const base::Root& root, const std::string& staging,
                                                          std::map<std::string, std::string> places);

/// Seals the set and moves it, or, where an intact one stands in its place already, makes that the newest. Ends in the same
/// state wherever a run before it was interrupted.
[[nodiscard]] base::Result<void> put_in_place(const base::Root& root, const std::string& from,
                                              const std::string& to,
                                              const std::function<bool(const std::string& path)>& is_intact);

/// Moves what was added back into the staging directory, and takes away the directories above it that are left empty, up to
/// `store`. For undo: also where nothing was published.
[[nodiscard]] base::Result<void> withdraw_publication(const base::Root& root, const std::string& staging,
                                                      std::string_view store);

} // namespace gpuhost::content
