// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/converge.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/runtime/configure/check.hpp"
#include "daemon/runtime/configure/restart.hpp"
#include "daemon/runtime/configure/undo.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "daemon/runtime/inspect/files.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/toolkit/choice.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

/// Returns the settings with the toolkit that is selected now: if the desired one could not be selected, the
/// earlier one remains in use.
RuntimeSettings as_selected(const base::Root& root, RuntimeSettings settings) {
    ToolkitPlace& toolkit = settings.toolkit;
    if (!toolkit.directory.empty() && !is_toolkit_in(root, toolkit.directory))
        toolkit.directory = toolkit.otherwise;
    toolkit.programs = toolkit.directory;
    return settings;
}

constexpr std::size_t most_restarts = 3; ///< limit within an hour for restarts that no request asked for
constexpr std::uint64_t hour = 3600;
constexpr const char* restored = "restored";
constexpr const char* without_images = "containers get GPUs, but pods do not use this host's images: ";

/// Returns the error for a file that is rewritten by the service that starts the runtime. Only an
/// administrator's "runtime configure" tries again.
base::Error is_rewritten(const std::string& path) {
    return {Errc::Refused, "'" + path + "' is rewritten by the service that starts the runtime",
            "Configure the runtime in the settings of that service."};
}

/// Returns true if the runtime's files contain edits of gpuhost.
bool has_ours(const RecordedRuntime& recorded) {
    return std::any_of(recorded.files.begin(), recorded.files.end(), [](const auto& entry) {
        return entry.second.written && entry.second.written != entry.second.before;
    });
}

class RuntimeConverger {
  public:
    RuntimeConverger(core::StepContext& context, const ConvergeRequest& request, RuntimeUndo undo)
        : context_(context), root_(context.root), request_(request),
          record_(read_runtime_record(root_).value_or(RuntimeRecord())), undo_(std::move(undo)) {}

    Result<Json> run() {
        GPUHOST_TRY(targets, targets_of(root_, request_, record_));
        Json documents = Json::array();
        Result<void> failed;
        const auto tell = [&](const std::string& name, const Result<void>& done) {
            if (!done && request_.is_asked && failed)
                failed = base::fail(done.error().context(name));
            else if (!done)
                context_.warn(name + ": " + done.error().message);
            const RecordedRuntime& recorded = record_.runtimes[name];
            documents.push_back({{"name", name},
                                 {"outcome", recorded.outcome},
                                 {"text", recorded.text},
                                 {"restart_text", recorded.restart_text},
                                 {"restarted", std::exchange(was_restarted_, false)}});
        };
        for (const RuntimeState& state : targets.here) {
            context_.progress(-1, state.instance.name);
            tell(state.instance.name, converge(state));
        }
        for (const std::string& name : targets.gone)
            tell(name, restore_files(name));
        finish(targets.here);
        GPUHOST_CHECK(write_runtime_record(root_, record_));
        if (!failed)
            return base::fail(failed.error());
        return Json{{"runtimes", std::move(documents)}};
    }

  private:
    Result<void> converge(const RuntimeState& found) {
        RecordedRuntime& recorded = record_.runtimes[found.instance.name];
        if (recorded.outcome == restored && !request_.is_asked) {
            recorded.inputs.clear(); // an administrator's restore stays in force, even if the files change
            return {};
        }
        if (request_.is_asked) {
            recorded.is_restart_theirs = request_.no_restart;
            recorded.rewritten.clear();
        }
        recover_unfinished(recorded);
        // Configuring the previous runtime may have lasted long, so the state is read again.
        const RuntimeState state = read_runtime_named(root_, found.instance.name).value_or(found);
        inputs_ = inputs_of(root_, state);
        RuntimePlan plan =
            plan_runtime(root_, state, &recorded, as_selected(root_, request_.settings), request_.goal);
        recorded.kind = name_of(state.instance.kind);
        recorded.serves_cri = state.config.serves_cri && state.instance.name != "docker-containerd";
        recorded.newest_cdi = plan.desired.cdi || state.config.cdi == CdiState::On
                                  ? newest_cdi(state.instance.kind, state.instance.version)
                                  : "";
        const auto done = carry_out(plan, recorded);
        if (done && request_.goal == RuntimeGoal::Restored)
            recorded.files.clear();
        const bool is_half_done = !done && gives_gpus(plan, recorded);
        recorded.outcome = !done && !is_half_done                   ? "refused"
                           : request_.goal == RuntimeGoal::Restored ? restored
                           : (done && plan.outcome == PlanOutcome::Change) || has_ours(recorded)
                               ? "configured"
                               : std::string(name_of(is_half_done ? PlanOutcome::Nothing : plan.outcome));
        recorded.text =
            std::string(is_half_done ? without_images : "") + (done ? plan.text : done.error().message);
        if (!done && plan.state.instance.is_replaced)
            // When the runtime's process has ended, the step runs again.
            recorded.awaits = stamp_process(root_, plan.state.instance.pid);
        else if (!done && !awaits_restart(root_, recorded))
            recorded.awaits.reset(); // the process in `awaits` has ended, and this run has read the new state
        recorded.inputs = inputs_;
        return done;
    }

    /// Returns true if containers get GPUs although carry_out() failed. The failure then affects only the
    /// images of pods.
    [[nodiscard]] bool gives_gpus(const RuntimePlan& plan, const RecordedRuntime& recorded) const {
        return request_.goal == RuntimeGoal::Configured && plan.outcome == PlanOutcome::Change &&
               recorded.rewritten.empty() && !withholds_gpus(root_, recorded) &&
               lacking_for_gpus(plan.state.config, plan.desired).empty();
    }

    /// Updates the record after an interrupted run. Each file has either the new text, or the one from before
    /// the run.
    void recover_unfinished(RecordedRuntime& recorded) const {
        for (auto& [path, file] : recorded.unfinished) {
            const auto known = recorded.files.find(path);
            const auto now = read_text(root_, path);
            if (now && (known == recorded.files.end() || *now != known->second.written))
                recorded.files[path] = std::move(file);
        }
        recorded.unfinished.clear();
    }

    Result<void> carry_out(RuntimePlan& plan, RecordedRuntime& recorded) {
        const std::string& name = plan.state.instance.name;
        if (plan.outcome == PlanOutcome::Refused)
            return base::fail(plan.problem.value_or(base::Error{}));
        if (!plan.warning.empty())
            context_.warn(name + ": " + plan.warning);
        if (plan.outcome == PlanOutcome::ByHand && request_.is_asked)
            context_.warn(name + ": " + plan.text);
        if (plan.outcome != PlanOutcome::Change)
            return {};
        if (!recorded.rewritten.empty())
            return base::fail(is_rewritten(recorded.rewritten));
        if (!plan.change.files.empty())
            GPUHOST_CHECK(
                check_staged(root_, plan.state, plan.change, plan.desired, context_.staging + "/" + name));
        if (const auto done = put_into_effect(plan, recorded); !done)
            return give_up(plan, recorded, done.error());
        plan.text = request_.goal == RuntimeGoal::Restored ? "its configuration has no changes by gpuhost"
                                                           : "containers get GPUs";
        return {};
    }

    /// Writes the files and restarts the runtime. After a failure the caller restores the files.
    Result<void> put_into_effect(const RuntimePlan& plan, RecordedRuntime& recorded) {
        if (!plan.change.files.empty()) {
            GPUHOST_CHECK(announce(plan, recorded));
            GPUHOST_CHECK(write(plan, recorded));
        }
        GPUHOST_CHECK(restart(plan, recorded));
        if (!was_restarted_)
            return {};
        const auto now = read_runtime_named(root_, plan.state.instance.name);
        const auto left = now ? lacking(now->config, plan.desired) : std::vector<std::string>();
        return left.empty() ? Result<void>()
                            : base::fail(Errc::Failed, "after the restart " + base::join(left, ", "));
    }

    /// Saves what the writes replace, and records the writes. After a power cut the files are unchanged or
    /// can be restored.
    Result<void> announce(const RuntimePlan& plan, RecordedRuntime& recorded) {
        const auto process = plan.change.is_effective ? stamp_process(root_, plan.state.instance.pid)
                                                      : std::optional<ProcessStamp>();
        GPUHOST_CHECK(undo_.save(plan.state.instance.name, plan.change, recorded, process));
        for (const FileChange& file : plan.change.files) {
            const auto known = recorded.files.find(file.path);
            const bool is_as_left = known != recorded.files.end() && known->second.written == file.before;
            recorded.unfinished[file.path] = {
                is_as_left ? known->second.before : plan.without_us.at(file.path), file.after};
        }
        if (plan.change.is_effective) {
            recorded.gives_meanwhile =
                lacking_for_gpus(plan.state.config, plan.desired).empty() && !withholds_gpus(root_, recorded);
            recorded.awaits = process;
        }
        return write_runtime_record(root_, record_);
    }

    Result<void> write(const RuntimePlan& plan, RecordedRuntime& recorded) {
        for (const FileChange& file : plan.change.files)
            GPUHOST_CHECK(write_over(plan.state, file));
        for (auto& [path, file] : recorded.unfinished)
            recorded.files[path] = std::move(file);
        recorded.unfinished.clear();
        const RuntimeState now = read_runtime_named(root_, plan.state.instance.name).value_or(plan.state);
        stamp_own(plan.change, now);
        if (const auto left = lacking(now.config, plan.desired); !left.empty())
            return base::fail(Errc::Failed,
                              "the written configuration is not in effect: " + base::join(left, ", "));
        GPUHOST_CHECK(check_live(root_, now));
        // A runtime that started meanwhile may have read a part of the change.
        if (plan.change.is_effective)
            recorded.awaits = stamp_process(root_, now.instance.pid);
        return {};
    }

    /// Writes a file. Fails with Busy if another program has changed it since the check of the change.
    Result<void> write_over(const RuntimeState& state, const FileChange& file) const {
        GPUHOST_TRY(now, read_text(root_, file.path));
        if (now != file.before)
            return base::fail(Errc::Busy, "'" + file.path + "' was changed meanwhile by another program",
                              "Try again when that program has finished.");
        return write_text(root_, file.path, file.after, mode_of_new(state));
    }

    /// Returns the mode of a new file. The drop-in for containerd 1.x repeats content of other files, which
    /// may be readable by root alone.
    [[nodiscard]] mode_t mode_of_new(const RuntimeState& state) const {
        mode_t mode = 0644;
        for (const ConfigFile& file : state.files)
            if (const auto st = root_.stat(file.path); st && file.path != drop_in_of(state.instance))
                mode &= st->st_mode;
        return mode;
    }

    /// Records new stamps of gpuhost's own files only. Other inputs keep the stamps from before the plan, so
    /// that changes since then are detected later.
    void stamp_own(const RuntimeChange& change, const RuntimeState& now) {
        auto inputs = inputs_of(root_, now);
        const auto is_ours = [&](const std::string& path) {
            return std::any_of(change.files.begin(), change.files.end(), [&](const FileChange& file) {
                return file.path == path || base::starts_with(file.path, path + "/");
            });
        };
        for (auto& [path, stamp] : inputs)
            if (const auto before = inputs_.find(path); before != inputs_.end() && !is_ours(path))
                stamp = before->second;
        inputs_ = std::move(inputs);
    }

    /// Restores the files of a runtime that no longer exists.
    Result<void> restore_files(const std::string& name) {
        RecordedRuntime& recorded = record_.runtimes[name];
        recover_unfinished(recorded);
        RuntimeChange change;
        Result<void> left;
        for (const auto& [path, file] : recorded.files) {
            GPUHOST_TRY(now, read_text(root_, path));
            if (now == file.written || (now && content::is_ours(root_, path)))
                change.files.push_back({path, now, file.before});
            else if (now)
                left = base::fail(Errc::Busy, "'" + path + "' was changed later by another program",
                                  "Delete gpuhost's part of the file, or delete the file: the runtime is no "
                                  "longer installed.");
        }
        GPUHOST_CHECK(undo_.save(name, change, recorded, std::nullopt));
        for (const FileChange& file : change.files)
            GPUHOST_CHECK(write_text(root_, file.path, file.after, 0600));
        if (left)
            recorded = {};
        recorded.outcome = left ? restored : "refused";
        recorded.text = left ? "gpuhost's changes for it were removed" : left.error().message;
        return left;
    }

    Result<void> restart(const RuntimePlan& plan, RecordedRuntime& recorded) {
        recorded.restart_text.clear();
        if (awaits_restart(root_, recorded)) {
            const std::uint64_t now = base::realtime_us() / 1'000'000;
            std::erase_if(recorded.restarts,
                          [&](std::uint64_t when) { return when + hour < now || when > now; });
            recorded.restart_text = why_no_restart(plan, recorded);
            if (!recorded.restart_text.empty())
                context_.warn(plan.state.instance.name + ": " + recorded.restart_text);
            if (plan.restart != Restart::Now || !recorded.restart_text.empty())
                return {};
            if (!request_.is_asked)
                recorded.restarts.push_back(now);
            GPUHOST_CHECK(write_runtime_record(root_, record_));
            GPUHOST_CHECK(restart_runtime(root_, plan.state,
                                          [this](std::string_view text) { context_.progress(-1, text); }));
            was_restarted_ = true;
        }
        // The process that had the earlier configuration has ended, and its successor has read the files.
        recorded.awaits.reset();
        recorded.is_restart_theirs = false;
        return {};
    }

    /// Returns why the runtime is not restarted now; empty if it may be.
    [[nodiscard]] std::string why_no_restart(const RuntimePlan& plan, const RecordedRuntime& recorded) const {
        if (plan.restart != Restart::Now)
            return plan.restart_text;
        if (const std::string obstacle = obstacle_to_restart(root_); !obstacle.empty())
            return restart_by_hand(plan.state.instance) + obstacle;
        if (!request_.is_asked && recorded.restarts.size() >= most_restarts)
            return "it was restarted " + std::to_string(most_restarts) +
                   " times within an hour, because another program changes its configuration";
        return {};
    }

    /// Restores the files of this runtime alone; other runtimes stay configured. Returns `error`, and adds
    /// the result of the restoration to its message. If the service that starts the runtime has rewritten a
    /// file, another restart would not help: the runtime has read the rewritten file.
    Result<void> give_up(const RuntimePlan& plan, RecordedRuntime& recorded, base::Error error) {
        const std::string& name = plan.state.instance.name;
        const std::string rewritten = was_restarted_ ? other_text(plan.change) : "";
        if (!rewritten.empty())
            error = is_rewritten(rewritten);
        const auto back = undo_.put_back(name, record_, request_.permits_restart() && rewritten.empty());
        if (const auto state = read_runtime_named(root_, name); state && error.code != Errc::Busy)
            inputs_ = inputs_of(root_, *state); // retry only after an input has changed
        if (back)
            (void)undo_.forget(name); // else an undo of the step restores and restarts the runtime again
        error.message += back ? "; the previous configuration is in effect again"
                              : "; the previous configuration could not be restored: " + back.error().message;
        if (!rewritten.empty()) {
            recorded.awaits.reset();
            recorded.rewritten = rewritten;
        }
        return base::fail(std::move(error));
    }

    /// Returns the path of a file that no longer has the text of the change; empty if there is none.
    [[nodiscard]] std::string other_text(const RuntimeChange& change) const {
        const auto file =
            std::find_if(change.files.rbegin(), change.files.rend(), [&](const FileChange& one) {
                const auto text = read_text(root_, one.path);
                return text && *text != one.after;
            });
        return file == change.files.rend() ? "" : file->path;
    }

    /// Records the settings. A run for named runtimes records no settings, because the other runtimes were
    /// not configured with them.
    void finish(const std::vector<RuntimeState>& here) {
        if (!request_.names.empty())
            return;
        // If the desired toolkit is not selected, the settings are recorded with the toolkit in use. A later
        // run must then configure the runtimes again.
        const RuntimeSettings used = as_selected(root_, request_.settings);
        const bool is_whole = used.toolkit.directory == request_.settings.toolkit.directory;
        record_.settings = effective_settings(is_whole ? request_.settings : used);
        record_.places = known_places(root_);
        const auto is_here = [&](const std::string& name) {
            return std::any_of(here.begin(), here.end(),
                               [&](const RuntimeState& state) { return state.instance.name == name; });
        };
        for (auto& [name, recorded] : record_.runtimes)
            if (!is_here(name))
                recorded.inputs.clear(); // known_places() detects the runtime's return
        std::erase_if(record_.runtimes, [&](const auto& entry) {
            return !is_here(entry.first) && entry.second.files.empty() && entry.second.outcome != restored;
        });
    }

    core::StepContext& context_;
    const base::Root& root_;
    const ConvergeRequest& request_;
    RuntimeRecord record_;
    RuntimeUndo undo_;
    /// Stamps of the current runtime's inputs, from before the plan.
    std::map<std::string, std::string> inputs_;
    bool was_restarted_ = false; ///< whether the current runtime was restarted
};

} // namespace

Result<Targets> targets_of(const Root& root, const ConvergeRequest& request, const RuntimeRecord& record) {
    Targets targets;
    std::vector<RuntimeInstance> all = find_runtimes(root);
    std::vector<std::string> names = request.names;
    const bool is_restored = request.goal == RuntimeGoal::Restored;
    for (const auto& [name, recorded] : record.runtimes) {
        const bool is_here = std::any_of(
            all.begin(), all.end(), [&name = name](const RuntimeInstance& one) { return one.name == name; });
        const bool is_asked = names.empty() || std::find(names.begin(), names.end(), name) != names.end();
        if (is_restored && !is_here && is_asked && !(recorded.files.empty() && recorded.unfinished.empty()))
            targets.gone.push_back(name);
    }
    std::erase_if(names, [&](const std::string& name) {
        return std::find(targets.gone.begin(), targets.gone.end(), name) != targets.gone.end();
    });
    if (names.empty() && !request.names.empty())
        return targets;
    const auto of_settings = is_restored ? std::vector<std::string>() : request.settings.runtimes;
    GPUHOST_TRY(here, read_chosen_runtimes(root, std::move(all), of_settings, names));
    targets.here = std::move(here);
    return targets;
}

Result<Json> converge_runtimes(core::StepContext& context, const ConvergeRequest& request) {
    GPUHOST_TRY(undo, RuntimeUndo::read(context));
    return RuntimeConverger(context, request, std::move(undo)).run();
}

} // namespace gpuhost::runtime
