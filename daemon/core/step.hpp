// SPDX-License-Identifier: Apache-2.0
// Steps: the only way in which gpuhost changes a host.
//
// A Step is a value: it goes from the plan into the journal and from there to a worker, so that a daemon that
// was killed can go on, or back, with what the journal says and nothing else. A StepKind is its behaviour.
// Each phase runs in a worker process with the kind's sandbox and deadline; the daemon never runs one itself.
//
// Contract of every kind:
//   preflight  changes nothing; may run while the host serves; returns all problems, not the first
//   apply      converges: run again after an interruption at any point it ends in the same state
//   verify     reads the truth back (kernel, file system), never what apply remembers; called right after apply
//   undo       converges to the state before, also if apply never ran or ran in half, and after a reboot
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
    base::Json args;     ///< all that its phases need, now and after a reboot
    /// The point of no return, for a step that deletes what an undo would need, or lets others use what the operation brings.
    /// Once it has begun, nothing is undone: the operation goes on after a reboot, and its other steps after a failure, too.
    bool forward = false;
};

/// Something that stands in the way; preflight returns them and plan prints them.
struct Problem {
    base::Errc code = base::Errc::Refused;
    std::string text;        ///< a sentence
    std::string hint;        ///< what to do next; may be empty
    base::Json details = {}; ///< the same for programs; null where there is no more to say
};

/// What a kind's worker may do. daemon/host/worker/sandbox.cpp turns each into unit properties;
/// systemd/SANDBOXING.md says why.
enum class Sandbox {
    Parse,   ///< reads what came from outside: own user, no privileges, writes only its staging directory
    Compile, ///< as Parse, and may run compilers over installed kernel headers
    Content, ///< as Parse, and owns the blob store and its catalogue
    Sign,    ///< root, reads the site's private key or asks its token, writes only the staging directory
    Store,   ///< root, writes only gpuhost's own state
    System,  ///< root, writes /usr, /etc, /lib/modules, /lib/firmware and /run
    Boot,    ///< root, has programs of the host make the images that kernels boot with
    Modules, ///< root with CAP_SYS_MODULE: loads and unloads, sees all processes
    Units,   ///< root, talks to systemd, may signal processes
    Runtimes, ///< root, writes /etc, runs container runtimes' programs, talks to them and to systemd, sees their processes
    Devices, ///< root with the GPU's device nodes: node creation, NVML
};
[[nodiscard]] std::string_view name(Sandbox sandbox) noexcept;

struct StepContext {
    const base::Root& root;
    const base::Json& settings; ///< effective settings, {"Driver": {"HolderPolicy": "refuse", …}, …}
    std::string boot_id;
    std::string staging; ///< the transaction's own directory below staging_directory (core/job.hpp)
    std::vector<base::UniqueFd> inputs; ///< what the client passed, in the order of the step's args
    /// fraction 0..1 of this step, or negative for "not known"; text is a phrase ("loading nvidia_uvm").
    std::function<void(double fraction, std::string_view text)> progress;
    /// A sentence on what went wrong without harm, or in preflight what harm would come: logged, and shown with the operation.
    std::function<void(const std::string& text)> warn = [](const std::string&) {};
    /// Leaves it open until the worker ends, which may do the steps after this one, too. Of itself it closes it.
    std::function<void(base::UniqueFd)> keep = [](base::UniqueFd) {};
};

struct StepKind {
    std::string name;
    Sandbox sandbox = Sandbox::Store;
    std::chrono::seconds deadline{60}; ///< for each of apply and undo; the worker is killed after it
    /// What apply and undo write besides the staging directory; for the sandboxes that see files read-only.
    std::vector<std::string> writable;
    /// Cancel may kill its worker at any point; otherwise cancel waits for its end.
    bool interruptible = false;
    /// It changes what runs and no file that outlives the boot: in a system that does not run it is undone already.
    bool ends_with_boot = false;
    /// It changes the modules in the kernel: an undo that fails for what uses them, or that hangs, needs a reboot.
    bool changes_kernel = false;

    std::function<base::Result<std::vector<Problem>>(StepContext&, const base::Json& args)> preflight;
    /// Its output is for people and tests; the worker adds "warnings". With "skip": N the N steps after it are skipped: it
    /// has found that there is nothing for them to do.
    std::function<base::Result<base::Json>(StepContext&, const base::Json& args)> apply;
    std::function<base::Result<void>(StepContext&, const base::Json& args)> verify;
    std::function<base::Result<void>(StepContext&, const base::Json& args)> undo;
};

/// Every kind that this program knows; rooms add theirs in daemon/programs/components.cpp.
class StepKinds {
  public:
    void add(StepKind kind) { kinds_.push_back(std::move(kind)); }
    [[nodiscard]] const StepKind* find(std::string_view name) const;
    [[nodiscard]] const std::vector<StepKind>& all() const { return kinds_; }

  private:
    std::vector<StepKind> kinds_;
};

/// Opens devices, and keeps them open. One that is sick takes some seconds; many of them are not waited for.
void keep_open(const StepContext& context, const std::vector<std::string>& paths);

[[nodiscard]] base::Json to_json(const Step& step);
[[nodiscard]] base::Result<Step> step_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const Problem& problem);
[[nodiscard]] Problem problem_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const std::vector<Problem>& problems);
[[nodiscard]] std::vector<Problem> problems_from_json(const base::Json& array);

} // namespace gpuhost::core
