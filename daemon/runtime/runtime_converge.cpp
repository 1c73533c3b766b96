// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_converge.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/runtime_check.hpp"
#include "daemon/runtime/runtime_restart.hpp"
#include "daemon/runtime/runtime_undo.hpp"
#include "daemon/runtime/toolkit_choice.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// By now the toolkit that is wanted is selected, or this is done without that: then what was before it counts on.
RuntimeSettings as_selected(const base::Root& root, RuntimeSettings settings) {
    ToolkitPlace& toolkit = settings.toolkit;
    if (!toolkit.directory.empty() && !is_toolkit_in(root, toolkit.directory))
        toolkit.directory = toolkit.otherwise;
    toolkit.programs = toolkit.directory;
    return settings;
}

constexpr std::size_t most_restarts = 3; ///< within an hour, that nobody asked for
constexpr std::uint64_t hour = 3600;
constexpr const char* restored = "restored";

/// Is something of ours in its files?
bool has_ours(const RecordedRuntime& recorded) {
    return std::any_of(recorded.files.begin(), recorded.files.end(), [](const auto& entry) {
        return entry.second.written && entry.second.written != entry.second.before;
    });
}

class Converger {
  public:
    Converger(core::StepContext& context, const ConvergeRequest& request)
        : context_(context), root_(context.root), request_(request),
          record_(read_runtime_record(root_).value_or(RuntimeRecord())), undo_(read_undo(context)) {}

    Result<Json> run() {
        GPUHOST_TRY(states, chosen_runtimes(root_, request_.settings, request_.names));
        Json documents = Json::array();
        Result<void> failed;
        for (const RuntimeState& state : states) {
            const std::string& name = state.instance.name;
            context_.progress(-1, name);
            was_restarted_ = false;
            if (auto done = converge(state); !done && request_.is_asked && failed)
                failed = base::fail(done.error().context(name));
            else if (!done)
                context_.warn(name + ": " + done.error().message);
            const RecordedRuntime& recorded = record_.runtimes[name];
            documents.push_back({{"name", name},
                                 {"outcome", recorded.outcome},
                                 {"text", recorded.text},
                                 {"restart_text", recorded.restart_text},
                                 {"restarted", was_restarted_}});
        }
        finish(states);
        GPUHOST_CHECK(write_runtime_record(root_, record_));
        if (!failed)
            return base::fail(failed.error());
        return Json{{"runtimes", std::move(documents)}};
    }

  private:
    Result<void> converge(const RuntimeState& state) {
        RecordedRuntime& recorded = record_.runtimes[state.instance.name];
        if (recorded.outcome == restored && !request_.is_asked) {
            recorded.inputs.clear(); // what a person took out stays out, whatever becomes of its files
            return {};
        }
        RuntimePlan plan =
            plan_runtime(root_, state, &recorded, as_selected(root_, request_.settings), request_.goal);
        recorded.kind = name_of(state.instance.kind);
        const auto done = carry_out(plan, recorded);
        recorded.outcome = !done                             ? "refused"
                           : request_.goal == Goal::Restored ? restored
                           : plan.outcome == Outcome::Change || has_ours(recorded)
                               ? "configured"
                               : std::string(name_of(plan.outcome));
        recorded.text = done ? plan.text : done.error().message;
        if (!done && plan.state.instance.is_replaced)
            recorded.awaits = stamp_process(root_, plan.state.instance.pid); // its end is when to look again
        recorded.inputs = inputs_of(root_, read_runtime_named(root_, state.instance.name).value_or(state));
        return done;
    }

    Result<void> carry_out(RuntimePlan& plan, RecordedRuntime& recorded) {
        if (plan.outcome == Outcome::Refused)
            return base::fail(plan.problem.value_or(base::Error{}));
        if (plan.outcome == Outcome::ByHand || plan.outcome == Outcome::Nothing)
            return {};
        const std::string& name = plan.state.instance.name;
        if (!plan.change.files.empty()) {
            GPUHOST_CHECK(
                check_staged(root_, plan.state, plan.change, plan.wish, context_.staging + "/" + name));
            GPUHOST_CHECK(write(plan, recorded));
        }
        if (auto restarted = restart(plan, recorded); !restarted)
            return give_up(name, restarted.error());
        plan.text = request_.goal == Goal::Restored ? "nothing of gpuhost's is in its configuration"
                                                    : "containers get GPUs";
        return {};
    }

    /// What would be lost comes first: a power cut leaves what was there, or all that is needed to put it back.
    Result<void> write(const RuntimePlan& plan, RecordedRuntime& recorded) {
        const std::string& name = plan.state.instance.name;
        const auto process = stamp_process(root_, plan.state.instance.pid);
        undo_.remember(name, plan.change, recorded, plan.change.is_effective ? process : std::nullopt);
        GPUHOST_CHECK(write_undo(context_, undo_));
        remember_files(plan, recorded);
        if (plan.change.is_effective)
            recorded.awaits = process;
        GPUHOST_CHECK(write_runtime_record(root_, record_));
        for (const FileChange& file : plan.change.files)
            if (auto written = write_text(root_, file.path, file.after); !written)
                return give_up(name, written.error());
        const RuntimeState now = read_runtime_named(root_, name).value_or(plan.state);
        if (const auto left = lacking(now.config, plan.wish); !left.empty())
            return give_up(name, {Errc::Failed,
                                  "what was written is not what is in force: " + base::join(left, ", "), ""});
        if (auto loads = check_live(root_, now); !loads)
            return give_up(name, loads.error());
        // One that has started meanwhile may have read half of it.
        if (plan.change.is_effective)
            recorded.awaits = stamp_process(root_, now.instance.pid);
        return {};
    }

    void remember_files(const RuntimePlan& plan, RecordedRuntime& recorded) const {
        for (const FileChange& file : plan.change.files) {
            WrittenFile& known = recorded.files[file.path];
            if (!known.written || known.written != file.before)
                known.before = plan.without_us.at(file.path);
            known.written = file.after;
        }
        if (request_.goal == Goal::Restored)
            recorded.files.clear();
    }

    Result<void> restart(const RuntimePlan& plan, RecordedRuntime& recorded) {
        recorded.restart_text.clear();
        if (!recorded.awaits || recorded.awaits != stamp_process(root_, recorded.awaits->pid)) {
            recorded.awaits.reset(); // it is gone, and whatever is there has read the files
            return {};
        }
        const std::uint64_t now = base::realtime_us() / 1'000'000;
        std::erase_if(recorded.restarts, [&](std::uint64_t when) { return when + hour < now || when > now; });
        if (plan.restart != Restart::Now) {
            recorded.restart_text = plan.restart_text;
        } else if (!request_.is_asked && recorded.restarts.size() >= most_restarts) {
            recorded.restart_text = "it was restarted " + std::to_string(most_restarts) +
                                    " times within the hour, since another program changes its configuration";
        } else {
            if (!request_.is_asked)
                recorded.restarts.push_back(now);
            GPUHOST_CHECK(write_runtime_record(root_, record_));
            GPUHOST_CHECK(restart_runtime(root_, plan.state,
                                          [this](std::string_view text) { context_.progress(-1, text); }));
            recorded.awaits.reset();
            was_restarted_ = true;
        }
        if (!recorded.restart_text.empty())
            context_.warn(plan.state.instance.name + ": " + recorded.restart_text);
        return {};
    }

    /// This runtime alone: others that are well stay so.
    Result<void> give_up(const std::string& name, base::Error error) {
        auto back = undo_.put_back(root_, name, record_, request_.settings.restart,
                                   [this](const std::string& text) { context_.warn(text); });
        undo_.forget(name);
        if (back)
            back = write_undo(context_, undo_);
        if (!back)
            error.message += "; and what was there could not be put back: " + back.error().message;
        else
            error.message += "; what was there before is in force again";
        return base::fail(std::move(error));
    }

    void finish(const std::vector<RuntimeState>& states) {
        // Without the toolkit that is wanted it is to be done again.
        const RuntimeSettings used = as_selected(root_, request_.settings);
        const bool is_whole = used.toolkit.directory == request_.settings.toolkit.directory;
        record_.settings = to_json(is_whole ? request_.settings : used);
        record_.places = known_places(root_);
        if (!request_.names.empty())
            return;
        std::erase_if(record_.runtimes, [&](const auto& entry) {
            return entry.second.files.empty() &&
                   std::none_of(states.begin(), states.end(), [&](const RuntimeState& state) {
                       return state.instance.name == entry.first;
                   });
        });
    }

    core::StepContext& context_;
    const base::Root& root_;
    const ConvergeRequest& request_;
    RuntimeRecord record_;
    RuntimeUndo undo_;
    bool was_restarted_ = false;
};

} // namespace

Result<Json> converge_runtimes(core::StepContext& context, const ConvergeRequest& request) {
    return Converger(context, request).run();
}

Result<void> put_back_runtimes(core::StepContext& context, bool may_restart) {
    RuntimeRecord record = read_runtime_record(context.root).value_or(RuntimeRecord());
    const RuntimeUndo undo = read_undo(context);
    Result<void> failed;
    for (const std::string& name : undo.names())
        if (auto back = undo.put_back(context.root, name, record, may_restart, context.warn); !back && failed)
            failed = base::fail(back.error().context(name));
    GPUHOST_CHECK(write_runtime_record(context.root, record));
    return failed;
}

} // namespace gpuhost::runtime
