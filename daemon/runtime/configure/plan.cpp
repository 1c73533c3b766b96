// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/plan.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/configure/busy.hpp"
#include "daemon/runtime/configure/undo.hpp"
#include "daemon/runtime/inspect/files.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Returns true if gpuhost edits the configuration of this runtime. k0s, k3s, RKE2 and MicroK8s write their
/// files at each start, and a restart of them restarts the kubelet.
bool is_configured_here(const RuntimeState& state) {
    const RuntimeInstance& instance = state.instance;
    if (instance.kind == RuntimeKind::Containerd)
        return instance.name != "docker-containerd" && state.config.serves_cri;
    return instance.kind == RuntimeKind::Crio || instance.kind == RuntimeKind::Docker;
}

/// Fails unless the file is a regular file of root:root. An atomic write creates a new file, which would
/// replace a link and another owner.
Result<void> check_changeable(const Root& root, const std::string& path) {
    const auto st = root.lstat(path);
    if (!st && st.error().code == Errc::NotFound)
        return {};
    if (!st)
        return base::fail(st.error());
    if (S_ISLNK(st->st_mode))
        return base::fail(Errc::AlreadyExists, "'" + path + "' is a link that another program maintains",
                          "Configure its target in that program, or replace the link with a file.");
    if (!S_ISREG(st->st_mode) || st->st_uid != ::geteuid() || st->st_gid != ::getegid())
        return base::fail(Errc::AlreadyExists, "'" + path + "' is not a regular file owned by root:root",
                          "Run chown root:root '" + path + "', or configure the runtime manually.");
    return {};
}

Result<std::map<std::string, Text>> read_texts(const Root& root, const RuntimeInstance& instance) {
    std::map<std::string, Text> texts;
    for (const std::string& path : changeable_files(instance)) {
        GPUHOST_TRY(text, read_text(root, path));
        texts[path] = std::move(text);
    }
    return texts;
}

/// Restores the original bytes of files that no program has changed since gpuhost wrote them.
void restore_bytes(RuntimeChange& change, const RecordedRuntime* recorded) {
    if (recorded == nullptr)
        return;
    for (FileChange& file : change.files)
        if (const auto known = recorded->files.find(file.path);
            known != recorded->files.end() && known->second.written == file.before)
            file.after = known->second.before;
}

constexpr const char* nothing_of_ours = "its configuration has no changes by gpuhost";

bool has_ours(const Root& root, const RuntimeState& state, const RecordedRuntime* recorded) {
    const std::string drop_in = drop_in_of(state.instance);
    return (recorded != nullptr && !recorded->files.empty()) || (!drop_in.empty() && root.exists(drop_in)) ||
           (!drop_in.empty() && is_named(state.files.front(), drop_in));
}

/// Returns true if Deckhouse generates the main file. Deckhouse concatenates deckhouse.toml and all of conf.d
/// into it, so values in a drop-in would remain permanently.
bool is_made_by_deckhouse(const Root& root, const RuntimeInstance& instance) {
    return is_containerd(instance.kind) &&
           root.exists(instance.config.substr(0, instance.config.rfind('/')) + "/deckhouse.toml");
}

Result<void> check_state(const Root& root, const RuntimeState& state) {
    const std::string& name = state.instance.name;
    if (is_made_by_deckhouse(root, state.instance))
        return base::fail(Errc::Unsupported, "Deckhouse writes '" + state.instance.config +
                                                 "': enable CDI with a NodeGroupConfiguration");
    if (state.is_secret)
        return base::fail(Errc::AccessDenied, "permission denied for some of its files",
                          "Run the command as root.");
    if (!state.config.problems.empty())
        return base::fail(Errc::Refused, "its configuration is not valid: " + state.config.problems.front(),
                          "Correct it first; nothing was changed.");
    if (!state.instance.version)
        return base::fail(Errc::Unsupported, "its version is not known",
                          "See 'gpuhostctl runtime show " + name + "' for its program.");
    return {};
}

/// Returns the verdict without its ending ": nothing to do".
std::string state_text(const RuntimeState& state) {
    constexpr std::string_view ending = ": nothing to do";
    std::string text = verdict(state);
    if (base::ends_with(text, ending))
        text.erase(text.size() - ending.size());
    return text;
}

Result<RuntimeChange> permitted_change(const Root& root, const RuntimePlan& plan,
                                       const std::map<std::string, Text>& texts, const KnownFiles& known) {
    GPUHOST_TRY(change, runtime_change(plan.state, plan.desired, texts, known));
    for (const FileChange& file : change.files)
        GPUHOST_CHECK(check_changeable(root, file.path));
    return std::move(change);
}

/// Plans without certs.d if the change with certs.d is refused: a problem with images of pods must not keep
/// GPUs from containers.
Result<RuntimeChange> possible_change(const Root& root, RuntimePlan& plan,
                                      const std::map<std::string, Text>& texts, const KnownFiles& known) {
    auto change = permitted_change(root, plan, texts, known);
    if (change || !plan.desired.registry_hosts)
        return change;
    plan.warning = "pods do not use this host's images: " + change.error().message;
    plan.desired.registry_hosts = false;
    return permitted_change(root, plan, texts, known);
}

/// Keeps certs.d if gpuhost's drop-in already sets it. The setting has no effect without images, and its
/// removal would need a restart.
void keep_registry_hosts(DesiredConfig& desired, const RuntimeConfig& now, const RuntimeConfig& without_us) {
    if (now.registry_hosts == RegistryHosts::Read && without_us.registry_hosts == RegistryHosts::Unread)
        desired.registry_hosts = true;
}

Result<RuntimeChange> change_for(const Root& root, RuntimePlan& plan, const RecordedRuntime* recorded,
                                 const RuntimeSettings& settings, RuntimeGoal goal) {
    GPUHOST_CHECK(check_state(root, plan.state));
    GPUHOST_TRY(texts, read_texts(root, plan.state.instance));
    if (goal == RuntimeGoal::Configured) {
        const RuntimeConfig without_us = without_ours(plan.state).config;
        GPUHOST_TRY(desired, desired_config(root, without_us, plan.state.instance.version->text, settings));
        plan.desired = std::move(desired);
        keep_registry_hosts(plan.desired, plan.state.config, without_us);
    }
    const KnownFiles known = recorded != nullptr ? recorded->files : KnownFiles();
    GPUHOST_TRY(change, possible_change(root, plan, texts, known));
    GPUHOST_TRY(removal, runtime_change(plan.state, {}, texts, known));
    for (const FileChange& file : removal.files)
        texts[file.path] = file.after;
    plan.without_us = std::move(texts);
    if (goal == RuntimeGoal::Restored)
        restore_bytes(change, recorded);
    return std::move(change);
}

void plan_restart(const Root& root, RuntimePlan& plan, const RecordedRuntime* recorded,
                  const RuntimeSettings& settings) {
    const RuntimeInstance& instance = plan.state.instance;
    const bool awaits =
        recorded != nullptr && recorded->awaits && recorded->awaits == stamp_process(root, instance.pid);
    if (instance.pid == 0 || !(plan.change.is_effective || awaits))
        return;
    plan.restart = Restart::Now;
    plan.restart_text =
        instance.name + " reads its configuration only when it starts, so it is restarted once";
    std::string why_not;
    if (!settings.restart)
        why_not = "restarts are disabled (Restart=no)";
    else if (recorded != nullptr && recorded->is_restart_theirs)
        why_not = "--no-restart was given";
    else if (instance.unit.empty() || !instance.is_held)
        why_not = "no systemd service runs it";
    else
        why_not = harm_of_restart(root, plan.state);
    if (why_not.empty())
        return;
    plan.restart = Restart::Wanted;
    plan.restart_text = restart_by_hand(instance) + why_not;
}

/// Returns true if an administrator must configure this runtime for GPUs. False for runtimes without CDI
/// support: only other tools can give them GPUs.
bool is_left_to_people(const RuntimeState& state) {
    if (state.instance.name == "docker-containerd")
        return false;
    if (state.config.cdi == CdiState::On)
        return !reads_specs(state);
    return is_containerd(state.instance.kind) && state.config.serves_cri;
}

} // namespace

std::string_view name_of(PlanOutcome outcome) {
    switch (outcome) {
    case PlanOutcome::Change:
        return "change";
    case PlanOutcome::ByHand:
        return "by-hand";
    case PlanOutcome::Refused:
        return "refused";
    default:
        return "nothing";
    }
}

std::string restart_by_hand(const RuntimeInstance& instance) {
    const std::string how =
        instance.unit.empty() || !instance.is_held ? "" : " with 'systemctl restart " + instance.unit + "'";
    return "restart it yourself" + how + ": ";
}

RuntimePlan plan_runtime(const Root& root, RuntimeState state, const RecordedRuntime* recorded,
                         const RuntimeSettings& settings, RuntimeGoal goal) {
    RuntimePlan plan;
    plan.state = std::move(state);
    if (!is_configured_here(plan.state)) {
        plan.text = state_text(plan.state);
        if (goal == RuntimeGoal::Configured && is_left_to_people(plan.state))
            plan.outcome = PlanOutcome::ByHand;
        return plan;
    }
    if (goal == RuntimeGoal::Restored && !has_ours(root, plan.state, recorded)) {
        plan.text = nothing_of_ours;
        return plan; // nothing to restore, so other problems do not matter
    }
    auto change = change_for(root, plan, recorded, settings, goal);
    if (!change && change.error().code == Errc::Unsupported) {
        plan.outcome = PlanOutcome::ByHand;
        plan.text = change.error().message;
        return plan;
    }
    if (!change) {
        plan.outcome = PlanOutcome::Refused;
        plan.problem = change.error();
        plan.text = change.error().message;
        return plan;
    }
    plan.change = *std::move(change);
    plan_restart(root, plan, recorded, settings);
    if (!plan.change.files.empty() || plan.restart == Restart::Now)
        plan.outcome = PlanOutcome::Change;
    plan.text = !plan.change.reasons.empty()    ? base::join(plan.change.reasons, ", ")
                : goal == RuntimeGoal::Restored ? nothing_of_ours
                : plan.desired.classes.empty()  ? state_text(plan.state)
                                                : "its runtime classes are configured";
    // The CDI version that a runtime reads depends on its program. If the program is too old, no
    // configuration helps.
    if (plan.outcome == PlanOutcome::Nothing && goal == RuntimeGoal::Configured && plan.desired.cdi &&
        !reads_specs(plan.state)) {
        plan.outcome = PlanOutcome::ByHand;
        plan.text = state_text(plan.state);
    }
    return plan;
}

Result<std::vector<RuntimeState>> read_chosen_runtimes(const Root& root, std::vector<RuntimeInstance> all,
                                                       const std::vector<std::string>& of_settings,
                                                       const std::vector<std::string>& names) {
    const auto is_here = [&](const std::string& name) {
        return std::any_of(all.begin(), all.end(),
                           [&](const RuntimeInstance& one) { return one.name == name; });
    };
    for (const std::string& name : names)
        if (!is_here(name))
            return base::fail(Errc::NotFound, "container runtime '" + name + "' not found",
                              "List the container runtimes with 'gpuhostctl runtime show'.");
    const std::vector<std::string>& chosen = names.empty() ? of_settings : names;
    std::vector<RuntimeState> states;
    for (RuntimeInstance& one : all)
        if (chosen.empty() || std::find(chosen.begin(), chosen.end(), one.name) != chosen.end())
            states.push_back(read_runtime(root, std::move(one)));
    return states;
}

} // namespace gpuhost::runtime
