// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/log.hpp"
#include "daemon/core/record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::host {

/// Returns "alice with gpuhostctl": the requester, as messages name it.
[[nodiscard]] std::string who(const core::Subject& subject);

/// Logs `text` with the requester in fields of the journal, which gpuhostd(8) describes. `operation` is 0 if
/// there is none.
void log_asked(base::log::Level level, std::string_view message_id, const core::Subject& subject,
               std::uint64_t operation, std::string_view text) noexcept;

} // namespace gpuhost::host
