// SPDX-License-Identifier: Apache-2.0
// Reads and writes lists of gpuhostd.conf that a command changes for an administrator, each in its own
// drop-in.
#pragma once

#include "daemon/core/settings.hpp"

namespace gpuhost::core {

struct ListDropIn {
    /// "/etc/gpuhost/gpuhostd.conf.d/50-…"; files that sort after it override it.
    std::string_view path;
    std::string_view writers; ///< named in its first line: "gpuhostctl image pin and unpin"
    std::string_view section;
    std::string_view key; ///< of type Words
};

/// Sets the key to `words`. Fails with Refused, without a change, if a later file overrides it. `keys` are
/// those of the section's subsystem.
[[nodiscard]] base::Result<void> write_list(const base::Root& root, std::span<const SettingKey> keys,
                                            const ListDropIn& list, const std::vector<std::string>& words);

/// Returns the configured list. Problems elsewhere in the files are ignored; the daemon reports them.
[[nodiscard]] std::vector<std::string> read_list(const base::Root& root, std::span<const SettingKey> keys,
                                                 const ListDropIn& list);

} // namespace gpuhost::core
