// SPDX-License-Identifier: Apache-2.0
// Reads and writes settings that commands such as `gpuhostctl image pin` change. Each setting is a list of
// words, and has a drop-in of its own in gpuhostd.conf.d/.
#pragma once

#include "daemon/core/settings.hpp"

namespace gpuhost::core {

struct ListDropIn {
    /// The drop-in: "/etc/gpuhost/gpuhostd.conf.d/50-…". Drop-ins whose names sort after it override it.
    std::string_view path;
    /// Commands that are named in the comment in the drop-in's first line: "gpuhostctl image pin and unpin".
    std::string_view writers;
    std::string_view section;
    std::string_view key; ///< of type Words
};

/// Writes the drop-in with `words` as its value. If a later drop-in overrides the key, restores the previous
/// content and fails with Refused. `keys` are all keys of the section's subsystem.
[[nodiscard]] base::Result<void> write_list(const base::Root& root, std::span<const SettingKey> keys,
                                            const ListDropIn& list, const std::vector<std::string>& words);

/// Returns the list in effect. Ignores problems in the files; the daemon reports them.
[[nodiscard]] std::vector<std::string> read_list(const base::Root& root, std::span<const SettingKey> keys,
                                                 const ListDropIn& list);

} // namespace gpuhost::core
