// SPDX-License-Identifier: Apache-2.0
// Lists of gpuhostd.conf that a command changes for an administrator, each in a drop-in of its own.
#pragma once

#include "daemon/core/settings.hpp"

namespace gpuhost::core {

struct ListDropIn {
    std::string_view path; ///< "/etc/gpuhost/gpuhostd.conf.d/50-…": files that come after it in order win
    std::string_view writers; ///< for its first line: "gpuhostctl image pin and unpin"
    std::string_view section;
    std::string_view key; ///< of type Words
};

/// Makes `words` all that the key says. Refused, with nothing changed, where a file that comes later says otherwise. `keys`
/// are those of the section's room.
[[nodiscard]] base::Result<void> write_list(const base::Root& root, std::span<const SettingKey> keys,
                                            const ListDropIn& list, const std::vector<std::string>& words);

/// As configured now; what is wrong elsewhere in the files the daemon says.
[[nodiscard]] std::vector<std::string> read_list(const base::Root& root, std::span<const SettingKey> keys,
                                                 const ListDropIn& list);

} // namespace gpuhost::core
