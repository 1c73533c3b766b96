// SPDX-License-Identifier: Apache-2.0
// The files in /run/nvidia/validations that NVIDIA's operands in Kubernetes wait for. Operands are the device
// plugin, GPU feature discovery, DCGM and its exporter, MIG manager, MPS and the DRA driver. The GPU
// Operator's validator writes the same files if it is deployed.
//
//   driver-ready   the host's complete driver runs; operands read the file as shell variables
//   toolkit-ready  containers get its GPUs; empty
//
// Each file has one owner at a time. gpuhost never touches a file with other content. If the validator
// removes and rewrites a file, that file counts as gpuhost's.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ValidationSettings {
    bool keep = true;     ///< [Cluster] StatusFiles=
    bool cdi = true;      ///< [CDI] Manage=: gpuhost writes specifications
    bool runtimes = true; ///< [Runtime] Manage=: gpuhost configures runtimes
};
/// Reads the settings in the form that workers get.
[[nodiscard]] ValidationSettings validation_settings(const base::Json& settings);

/// The state of the host as far as operands depend on it.
struct ValidationFacts {
    bool driver = false;     ///< loaded, with its libraries and a node for each GPU that it serves
    bool containers = false; ///< CDI describes this driver, and runtimes give it to containers
};
[[nodiscard]] ValidationFacts validation_facts(const base::Root& host, const ValidationSettings& settings);

/// State of one of the files.
struct ValidationState {
    enum class File { Absent, Same, Other } file = File::Absent; ///< compared with gpuhost's text
    bool ours = false;                                           ///< gpuhost has written it
};
enum class ValidationChange { None, Write, Remove };
[[nodiscard]] ValidationChange validation_change(bool wanted, const ValidationState& state);

/// Returns {"driver-ready": {"wanted", "file": "absent", "same" or "other", "ours"}, "toolkit-ready": …}.
[[nodiscard]] base::Json observe_validations(const base::Root& host, const ValidationSettings& settings);
/// Returns the reasons for a change, for people to read.
[[nodiscard]] std::vector<std::string> validation_reasons(const base::Json& observed);

/// Makes the files match the host. Obstacles are warnings: they must not undo a change to a working driver.
void converge_validations(core::StepContext& context);
/// Updates toolkit-ready alone, where the driver cannot be observed. driver-ready then tells whether it is
/// ready.
void converge_toolkit_validation(core::StepContext& context);
/// Removes the files before the driver is removed, whoever wrote them.
[[nodiscard]] base::Result<void> withdraw_validations(core::StepContext& context);

} // namespace gpuhost::runtime
