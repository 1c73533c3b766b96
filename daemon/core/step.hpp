// SPDX-License-Identifier: Apache-2.0
// Steps: the only way in which gpuhost changes a host.
//
// A Step is a value: the name of a kind, and arguments. The daemon writes it to the journal as a part of the
// plan, and sends it to a worker. A restarted daemon can therefore continue or undo with the journal alone.
// Each phase of a step runs in a worker process with the kind's sandbox and deadline, never in the daemon.
// The daemon links each StepKind and no StepCode.
//
// Contract of every kind's code:
//   preflight  changes nothing; may run while the host is in use; returns all problems, not only the first
//   apply      converges: if interrupted at any point and run again, it reaches the same state
//   verify     runs after apply; reads the actual state (kernel, file system), not what apply remembers
//   undo       converges to the previous state, also if apply ran partly or not at all, and after a reboot
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/former_names.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace gpuhost::core {

struct Step {
    std::string kind; ///< "modules.converge"
    /// "load nvidia 550.163.01 in place of 535.261.03": the step's line in a printed plan.
    std::string summary;
    base::Json args; ///< everything that the phases need, now and after a reboot
    /// True at the point of no return: the step deletes what an undo would need, or publishes the operation's
    /// result. After such a step has begun, no step is undone. The operation continues after a reboot, and
    /// later steps run even if one fails.
    bool forward = false;
    /// True if the step only waits, or its undo leaves no trace: as long as no other step has begun, a
    /// failure is a refusal. Its undo runs as for other steps.
    bool passive = false;
    /// True if the step has work only in its undo.
    bool undo_only = false;
};

/// A reason why an operation can't run. Planning and preflight return problems; gpuhostctl prints them.
struct Problem {
    base::Errc code = base::Errc::Refused;
    std::string text;        ///< a sentence
    std::string hint;        ///< what to do next; may be empty
    base::Json details = {}; ///< the problem for programs; null if `text` says everything
};

/// The privileges of a worker. daemon/host/worker/sandbox.cpp converts each value to unit properties;
/// systemd/SANDBOXING.md gives the reasons.
enum class Sandbox {
    Parse,   ///< reads untrusted input: own user, no privileges, writes only the staging directory
    Compile, ///< as Parse, and may run compilers over installed kernel headers
    Content, ///< as Parse, and owns the blob store and its catalogue
    Sign,    ///< root, uses the site's private key or its token, writes only the staging directory
    Store,   ///< root, writes only gpuhost's own state
    System,  ///< root, writes /usr, /etc, /lib/modules, /lib/firmware and /run
    Boot,    ///< root, runs the host's programs that create boot images
    Modules, ///< root with CAP_SYS_MODULE: loads and unloads modules, sees all processes
    Units,   ///< root, calls systemd, may signal processes
    /// Root, writes /etc, runs programs of container runtimes, calls their sockets and systemd, sees their
    /// processes.
    Runtimes,
    Devices, ///< root with the GPUs' device nodes: creates nodes, calls NVML
    Mig,     ///< as Devices with CAP_SYS_ADMIN, which the driver requires to list and create MIG instances
};
[[nodiscard]] std::string_view name(Sandbox sandbox) noexcept;

struct StepContext {
    const base::Root& root;
    const base::Json& settings; ///< effective settings, {"Driver": {"HolderPolicy": "refuse", …}, …}
    std::string boot_id;
    std::string staging; ///< the transaction's own directory below staging_directory (core/job.hpp)
    /// Files that the client passed, in the order of their names in the step's args.
    std::vector<base::UniqueFd> inputs;
    /// Reports progress. `fraction` is the completed part of this step: 0 to 1; negative if unknown. `text`
    /// is a phrase ("loading nvidia_uvm").
    std::function<void(double fraction, std::string_view text)> progress;
    /// Adds a warning to the operation, as a sentence. In preflight: damage that apply would do. Later: a
    /// failure without consequences. The daemon logs it and shows it with the operation.
    std::function<void(const std::string& text)> warn = [](const std::string&) {};
    /// Adds a note to the operation: a fact about a check that was left out. In preflight or later. The
    /// daemon shows it with the operation.
    std::function<void(const std::string& text)> note = [](const std::string&) {};
    /// Keeps a descriptor open until the worker process exits. The worker may run later steps of the
    /// operation too, so the descriptor stays open for them. The default closes it.
    std::function<void(base::UniqueFd)> keep = [](base::UniqueFd) {};
    /// Adds members to the output of a preflight, which a dry run shows: facts about the input, such as a
    /// bundle's driver versions. "skip_kinds" works as in the output of apply, which is another one.
    std::function<void(const base::Json& facts)> describe = [](const base::Json&) {};
};

/// The properties of a kind, by which the daemon runs its phases.
struct StepKind {
    std::string name;
    Sandbox sandbox = Sandbox::Store;
    /// Time limit of apply with verify, and of undo: at least 60 s for each. A worker that exceeds it is
    /// killed. A preflight worker gets the longest deadline of its steps' kinds.
    std::chrono::seconds deadline{60};
    /// Paths that apply and undo may write besides the staging directory. Needed in sandboxes whose file
    /// system is otherwise read-only.
    std::vector<std::string> writable = {};
    /// True: a cancel may kill the worker at any time. False: a cancel waits until the phase ends.
    bool interruptible = false;
    /// True if apply changes only the running system, and no file that remains after a shutdown. In a system
    /// that is not booted, such a step counts as undone.
    bool ends_with_boot = false;
    /// True if apply loads or unloads kernel modules. If its undo times out, or fails because a module is in
    /// use, the operation ends with RebootRequired.
    bool changes_kernel = false;
    /// The phases that the kind's code has. The daemon starts no worker for the others.
    bool has_preflight = false;
    bool has_apply = true;
    bool has_undo = false;
};

/// The code of a kind's phases; an empty function is a phase without work. Only workers link it.
struct StepCode {
    std::string name; ///< of the kind
    std::function<base::Result<std::vector<Problem>>(StepContext&, const base::Json& args)> preflight = {};
    /// Returns a JSON object, which is shown with the operation; the worker adds "warnings" and "notes" to
    /// it. The member "skip": N skips the next N steps, because this step left nothing for them to do.
    /// "skip_kinds": [KIND…] skips all later steps of these kinds, except those of the same group. "title"
    /// replaces the title of the operation, for what the plan could not know.
    std::function<base::Result<base::Json>(StepContext&, const base::Json& args)> apply = {};
    std::function<base::Result<void>(StepContext&, const base::Json& args)> verify = {};
    std::function<base::Result<void>(StepContext&, const base::Json& args)> undo = {};
};

/// Values of all kinds that this program knows, by name. daemon/programs/ adds those of each subsystem.
template <class Value>
class ByKind {
  public:
    void add(Value value) { values_.push_back(std::move(value)); }
    void add(std::vector<Value> values) {
        std::move(values.begin(), values.end(), std::back_inserter(values_));
    }
    /// Returns null for an unknown name. Also finds a kind by its former name.
    [[nodiscard]] const Value* find(std::string_view name) const {
        name = present_kind(name);
        const auto it = std::find_if(values_.begin(), values_.end(),
                                     [&](const Value& value) { return value.name == name; });
        return it == values_.end() ? nullptr : &*it;
    }
    [[nodiscard]] const std::vector<Value>& all() const { return values_; }

  private:
    std::vector<Value> values_;
};
using StepKinds = ByKind<StepKind>;
using StepCodes = ByKind<StepCode>;

/// Opens device nodes read-write and passes the descriptors to context.keep. Skips nodes that can't be
/// opened. A faulty device takes some seconds to open, so after 60 seconds the remaining nodes are skipped.
void hold_open(const StepContext& context, const std::vector<std::string>& paths);

[[nodiscard]] base::Json to_json(const Step& step);
[[nodiscard]] base::Result<Step> step_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const Problem& problem);
[[nodiscard]] Problem problem_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const std::vector<Problem>& problems);
[[nodiscard]] std::vector<Problem> problems_from_json(const base::Json& array);

} // namespace gpuhost::core
