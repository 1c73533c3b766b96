// SPDX-License-Identifier: Apache-2.0
// The files in /run/nvidia/validations, for which NVIDIA's operands in Kubernetes wait: device plugin, GPU feature discovery,
// DCGM and its exporter, MIG manager, MPS, DRA driver. The GPU Operator's validator writes the same ones where it is deployed.
//
//   driver-ready   a driver runs, is whole, and is the host's: operands read it as a shell does
//   toolkit-ready  containers get its GPUs; empty
//
// There is one owner of each at a time: what says something else than we would is never touched, and what the validator takes
// away and writes again is as good as ours.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ValidationSettings {
    bool keep = true;     ///< [Cluster] Validations=
    bool cdi = true;      ///< [CDI] Enable=: containers are told by us
    bool runtimes = true; ///< [Runtime] Configure=: so are runtimes
};
/// Of settings as workers get them.
[[nodiscard]] ValidationSettings validation_settings(const base::Json& settings);

/// What is true of the host, as far as operands are to know.
struct ValidationFacts {
    bool driver = false;     ///< it is loaded, with its libraries, and each GPU that it serves has its node
    bool containers = false; ///< they are told of this driver, and runtimes give it to them
};
[[nodiscard]] ValidationFacts validation_facts(const base::Root& host, const ValidationSettings& settings);

/// One of the files, as it is.
struct ValidationState {
    enum class File { Absent, Same, Other } file = File::Absent; ///< beside what we would write
    bool ours = false;                                           ///< we have written it
};
enum class ValidationChange { None, Write, Remove };
[[nodiscard]] ValidationChange validation_change(bool wanted, const ValidationState& state);

/// {"driver-ready": {"wanted", "file": "absent", "same" or "other", "ours"}, "toolkit-ready": …}
[[nodiscard]] base::Json observe_validations(const base::Root& host, const ValidationSettings& settings);
/// What is to be done, for people to read.
[[nodiscard]] std::vector<std::string> validation_reasons(const base::Json& observed);

/// Makes them what the host is. What is in the way is a warning: no driver that works is to go back for it.
void converge_validations(core::StepContext& context);
/// Of toolkit-ready alone, where the driver can't be looked at: it is as ready as driver-ready says.
void converge_toolkit_validation(core::StepContext& context);
/// The driver is about to go: what says that it is ready goes first, whoever wrote it.
[[nodiscard]] base::Result<void> withdraw_validations(core::StepContext& context);

} // namespace gpuhost::runtime
