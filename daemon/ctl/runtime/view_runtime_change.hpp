// SPDX-License-Identifier: Apache-2.0
// Renders changes of the configuration of container runtimes as text: the documents of
// daemon/runtime/configure/plan.hpp, and what the component observes (org.gpuhost1(5)). Pure functions, as in
// view.hpp.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

class Facts;

/// Renders plan_runtimes().
[[nodiscard]] std::string render_runtime_plan(const Screen& screen, const base::Json& plan);
/// Renders verify_runtimes().
[[nodiscard]] std::string render_runtime_checks(const Screen& screen, const base::Json& checked);
/// Adds the lines of 'status' about container runtimes.
void add_runtime_lines(Facts& facts, const Screen& screen, const base::Json& observed);

} // namespace gpuhost::ctl
