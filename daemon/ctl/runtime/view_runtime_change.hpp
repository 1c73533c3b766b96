// SPDX-License-Identifier: Apache-2.0
// What is done to runtimes' configuration, as text for people: the documents of daemon/runtime/configure/plan.hpp and what
// the component observes (org.gpuhost1(5)). Pure functions, as those of view.hpp.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

class Facts;

/// Of plan_runtimes().
[[nodiscard]] std::string render_runtime_plan(const Screen& screen, const base::Json& plan);
/// Of verify_runtimes().
[[nodiscard]] std::string render_runtime_checks(const Screen& screen, const base::Json& checked);
/// What status says of runtimes.
void add_runtime_lines(Facts& facts, const Screen& screen, const base::Json& observed);

} // namespace gpuhost::ctl
