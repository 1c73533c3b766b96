// SPDX-License-Identifier: Apache-2.0
// The files in /run/nvidia/validations that NVIDIA's operands in Kubernetes wait for. Operands are the device
// plugin, GPU feature discovery, DCGM and its exporter, MIG manager, MPS and the DRA driver. The GPU
// Operator's validator writes the same files if it is deployed.
//
//   driver-ready   the host's own driver runs, with its libraries and device nodes; operands read the file as
//                  shell variables
//   toolkit-ready  containers get the driver's GPUs; the file is empty
//
// Each file has one owner at a time. gpuhost never changes a file with other content. If gpuhost wrote a file
// and the validator removes and rewrites it, the file still counts as gpuhost's.
#pragma once

#include "daemon/base/json_fwd.hpp"
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
/// Reads the settings from the JSON form that workers get.
[[nodiscard]] ValidationSettings validation_settings(const base::Json& settings);

/// The state of the host as far as operands depend on it.
struct ValidationFacts {
    bool driver = false;     ///< loaded, with its libraries and a node for each GPU that it serves
    bool containers = false; ///< CDI describes this driver, and runtimes give it to containers
};
[[nodiscard]] ValidationFacts validation_facts(const base::Root& host, const ValidationSettings& settings);

/// The state of one validation file.
struct ValidationState {
    /// Same: the file has the text that gpuhost writes.
    enum class File { Absent, Same, Other } file = File::Absent;
    bool ours = false; ///< gpuhost has written the file
};
enum class ValidationChange { None, Write, Remove };
/// Returns what to do with a file. A wanted file is written if it is absent; an unwanted one is removed only
/// if gpuhost wrote it.
[[nodiscard]] ValidationChange validation_change(bool wanted, const ValidationState& state);

/// Returns {"driver-ready": {"wanted", "file": "absent", "same" or "other", "ours"}, "toolkit-ready": …}.
[[nodiscard]] base::Json observe_validations(const base::Root& host, const ValidationSettings& settings);
/// Returns the reasons for changes of the files, for people to read.
[[nodiscard]] std::vector<std::string> validation_reasons(const base::Json& observed);

/// Writes or removes the files to match the host. Obstacles are warnings: they must not undo a change to a
/// working driver.
void converge_validations(core::StepContext& context);
/// Updates only toolkit-ready, for steps whose sandbox cannot observe the driver. An existing file
/// driver-ready shows that the driver is ready.
void converge_toolkit_validation(core::StepContext& context);
/// Removes the files before the driver is removed: gpuhost's own, and with StatusFiles=yes also files of
/// another program with the same content.
[[nodiscard]] base::Result<void> withdraw_validations(core::StepContext& context);

} // namespace gpuhost::runtime
