// SPDX-License-Identifier: Apache-2.0
// Renders the documents of 'secure-boot status' and 'secure-boot show-enrolment' as text. Pure functions, as
// in view.hpp.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

[[nodiscard]] std::string render_secure_boot(const Screen& screen, const base::Json& status);
[[nodiscard]] std::string render_enrolment(const Screen& screen, const base::Json& enrolment);

} // namespace gpuhost::ctl
