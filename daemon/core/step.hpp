// SPDX-License-Identifier: Apache-2.0
// Steps: the only way in which gpuhost changes a host.
//
// A Step is a value. The plan stores it in the journal, and the daemon sends it to a worker. A restarted
// daemon can therefore continue or undo with the journal alone. A StepKind is its behaviour. Each phase runs
// in a worker process with the kind's sandbox and deadline; the daemon never runs one itself.
//
// Contract of every kind:
//   preflight  changes nothing; may run while the host is in use; returns all problems, not the first
//   apply      converges: if interrupted at any point and run again, it reaches the same state
//   verify     reads the actual state (kernel, file system), not what apply remembers; called after apply
//   undo       converges to the previous state, also if apply ran partly or not at all, and after a reboot
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gpuhost::core {

struct Step {
    std::string kind;    ///< "modules.converge"
    std::string summary; ///< "load nvidia 550.163.01 in place of 535.261.03": what plan prints
    base::Json args;     ///< everything that its phases need, now and after a reboot
    /// The point of no return, for a step that deletes what an undo would need, or that publishes the
    /// operation's result. After it has begun, nothing is undone: the operation continues after a reboot, and
    /// later steps run even after a failure.
    bool forward = false;
};

/// A reason why an operation can't run; preflight returns them and plan prints them.
struct Problem {
    base::Errc code = base::Errc::Refused;
    std::string text;        ///< a sentence
    std::string hint;        ///< what to do next; may be empty
    base::Json details = {}; ///< the same for programs; null if there is nothing to add
};

/// The privileges of a kind's worker. daemon/host/worker/sandbox.cpp converts each to unit properties;
/// systemd/SANDBOXING.md gives the reasons.
enum class Sandbox {
    Parse,   ///< reads untrusted input: own user, no privileges, writes only its staging directory
    Compile, ///< as Parse, and may run compilers over installed kernel headers
    Content, ///< as Parse, and owns the blob store and its catalogue
    Sign,    ///< root, uses the site's private key or its token, writes only the staging directory
    Store,   ///< root, writes only gpuhost's own state
    System,  ///< root, writes /usr, /etc, /lib/modules, /lib/firmware and /run
    Boot,    ///< root, runs the host's programs that create boot images
    Modules, ///< root with CAP_SYS_MODULE: loads and unloads, sees all processes
    Units,   ///< root, talks to systemd, may signal processes
    /// Root, writes /etc, runs container runtimes' programs, talks to them and to systemd, sees their
    /// processes.
    Runtimes,
    Devices, ///< root with the GPU's device nodes: node creation, NVML
};
[[nodiscard]] std::string_view name(Sandbox sandbox) noexcept;

struct StepContext {
    const base::Root& root;
    const base::Json& settings; ///< effective settings, {"Driver": {"HolderPolicy": "refuse", …}, …}
    std::string boot_id;
    std::string staging; ///< the transaction's own directory below staging_directory (core/job.hpp)
    std::vector<base::UniqueFd> inputs; ///< passed by the client, in the order of the step's args
    /// Reports progress: fraction 0..1 of this step, negative if unknown; text is a phrase ("loading
    /// nvidia_uvm").
    std::function<void(double fraction, std::string_view text)> progress;
    /// Reports, as a sentence, a failure that does no harm, or in preflight the harm that apply would do. It
    /// is logged, and shown with the operation.
    std::function<void(const std::string& text)> warn = [](const std::string&) {};
    /// Takes a descriptor and keeps it open until the worker exits, which may run the next steps, too. The
    /// default closes it.
    std::function<void(base::UniqueFd)> keep = [](base::UniqueFd) {};
};

struct StepKind {
    std::string name;
    Sandbox sandbox = Sandbox::Store;
    /// For each of apply (with verify) and undo, at least 60 s; the worker is killed after it. A preflight
    /// worker gets the longest deadline of its steps.
    std::chrono::seconds deadline{60};
    /// Paths that apply and undo write besides the staging directory; for the sandboxes that see files
    /// read-only.
    std::vector<std::string> writable;
    /// Cancel may kill the worker at any point; otherwise cancel waits until it ends.
    bool interruptible = false;
    /// Changes the running system and no file that outlives the boot: in an offline system it is already
    /// undone.
    bool ends_with_boot = false;
    /// Changes the modules in the kernel: if an undo hangs, or fails because they are in use, it needs a
    /// reboot.
    bool changes_kernel = false;

    std::function<base::Result<std::vector<Problem>>(StepContext&, const base::Json& args)> preflight;
    /// Returns output for people and tests; the worker adds "warnings". A step that leaves nothing to do for
    /// the next N steps returns "skip": N, and they are skipped.
    std::function<base::Result<base::Json>(StepContext&, const base::Json& args)> apply;
    std::function<base::Result<void>(StepContext&, const base::Json& args)> verify;
    std::function<base::Result<void>(StepContext&, const base::Json& args)> undo;
};

/// All kinds that this program knows; subsystems add theirs in daemon/programs/components.cpp.
class StepKinds {
  public:
    void add(StepKind kind) { kinds_.push_back(std::move(kind)); }
    [[nodiscard]] const StepKind* find(std::string_view name) const;
    [[nodiscard]] const std::vector<StepKind>& all() const { return kinds_; }

  private:
    std::vector<StepKind> kinds_;
};

/// Opens devices read-write and keeps them open with context.keep; ignores those that can't be opened. A
/// faulty device takes some seconds to open, so after 60 seconds the remaining ones are skipped.
void hold_open(const StepContext& context, const std::vector<std::string>& paths);

[[nodiscard]] base::Json to_json(const Step& step);
[[nodiscard]] base::Result<Step> step_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const Problem& problem);
[[nodiscard]] Problem problem_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const std::vector<Problem>& problems);
[[nodiscard]] std::vector<Problem> problems_from_json(const base::Json& array);

} // namespace gpuhost::core
