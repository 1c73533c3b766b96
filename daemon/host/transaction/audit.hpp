// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/log.hpp"
#include "daemon/core/record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::host {

/// Returns the requester as messages name it, for example "alice with gpuhostctl".
[[nodiscard]] std::string who(const core::Subject& subject);

/// Logs `text` with journal fields that name the requester; gpuhostd(8) lists these fields. `operation` is
/// the operation's id, or 0 for none.
void log_asked(base::log::Level level, std::string_view message_id, const core::Subject& subject,
               std::uint64_t operation, std::string_view text) noexcept;

} // namespace gpuhost::host
