// SPDX-License-Identifier: Apache-2.0
// Renders gpuhostd's documents (org.gpuhost1(5), "JSON documents") as text. Pure functions. A list without
// elements is an empty text.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/client/client.hpp"
#include "daemon/client/verdict.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

class Facts;

// Plans
[[nodiscard]] std::string render_plan(const Screen& screen, const base::Json& plan);
/// Renders all problems of a plan, which are the reason why the request was not started.
[[nodiscard]] std::string render_refusal(const Screen& screen, const base::Json& plan);
/// Renders problems and their hints, numbered if there are several.
[[nodiscard]] std::string render_problems(const Screen& screen, const base::Json& problems);
/// Returns the exit status that a start of this plan would have; 0 if it has no problems.
[[nodiscard]] int plan_exit_status(const base::Json& plan);
/// Returns the exit status of the error code that all problems have. If their codes differ, returns the exit
/// status of Refused.
[[nodiscard]] int problems_exit_status(const base::Json& problems);

// Operations
[[nodiscard]] std::string
render_operations(const Screen& screen, const std::vector<client::OperationRow>& rows, std::uint64_t now_us);
[[nodiscard]] std::string render_operation(const Screen& screen, const base::Json& operation,
                                           std::uint64_t now_us);
/// Renders the outcome of a successful operation. `kernel` is the running kernel's release. With `next`, adds
/// the command that uses what was imported or built.
[[nodiscard]] std::string render_success(const Screen& screen, const base::Json& operation,
                                         std::string_view kernel, bool next = true);
/// Renders the outcome of a failed operation. `running_driver` is the version that runs now; empty if
/// unknown.
[[nodiscard]] std::string render_failure(const Screen& screen, const base::Json& operation,
                                         std::string_view running_driver);
/// Renders a line for each step: its number, its state and its summary.
[[nodiscard]] std::string render_steps(const Screen& screen, const base::Json& operation);
[[nodiscard]] int operation_exit_status(const base::Json& operation);
/// Returns the name of an operation's state, coloured.
[[nodiscard]] std::string painted_state(const Screen& screen, std::string_view state);
[[nodiscard]] Style style_of_state(std::string_view state);

// Drivers
[[nodiscard]] std::string render_drivers(const Screen& screen, const base::Json& list,
                                         std::string_view loaded);
/// Renders one version: `version` is an element of "versions" in `list`.
[[nodiscard]] std::string render_driver(const Screen& screen, const base::Json& list,
                                        const base::Json& version, std::string_view loaded);
/// Renders `history`, the document of Driver.History.
[[nodiscard]] std::string render_history(const Screen& screen, const base::Json& history,
                                         std::uint64_t now_us);
/// Adds the lines of status about the driver. `driver` is what the component observed.
void add_driver_lines(Facts& facts, const Screen& screen, const base::Json& driver);

// CDI
void add_cdi_lines(Facts& facts, const Screen& screen, const base::Json& cdi);

// Bundles
/// Renders `list`, the document of Bundle.List.
[[nodiscard]] std::string render_bundles(const Screen& screen, const base::Json& list);
/// Renders one bundle: `bundle` is the content of its manifest, {"name", "generation", "signer", "images",
/// …}.
[[nodiscard]] std::string render_bundle(const Screen& screen, const base::Json& bundle);
/// Render list_images() and show_image().
[[nodiscard]] std::string render_images(const Screen& screen, const base::Json& list);
[[nodiscard]] std::string render_image(const Screen& screen, const base::Json& image);
/// Renders `placement`, the result of 'image pull' (org.gpuhost1(5)).
[[nodiscard]] std::string render_placement(const Screen& screen, const base::Json& placement);
/// Adds the lines of status about bundles and their images.
void add_image_lines(Facts& facts, const Screen& screen, const base::Json& images);

// The host
/// Renders status without the verdict. `last` is the newest operation, or null. `shown` is the verdict above:
/// its problem and its hint are not repeated.
[[nodiscard]] std::string render_status(const Screen& screen, const base::Json& host, const base::Json& last,
                                        std::uint64_t now_us, const client::Verdict& shown = {});
/// Add some of the lines of status. `host` is the document of Manager.Describe, `last` the newest operation.
void add_host_lines(Facts& facts, const Screen& screen, const base::Json& host);
void add_config_lines(Facts& facts, const Screen& screen, const base::Json& host);
void add_pending_lines(Facts& facts, const Screen& screen, const base::Json& host,
                       const client::Verdict& shown);
void add_cluster_lines(Facts& facts, const base::Json& host);
void add_last_lines(Facts& facts, const Screen& screen, const base::Json& last, std::uint64_t now_us);

} // namespace gpuhost::ctl
