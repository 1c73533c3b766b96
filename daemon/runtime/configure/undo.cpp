// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/undo.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/runtime/configure/busy.hpp"
#include "daemon/runtime/configure/restart.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t undo_limit = 64U << 20U;
constexpr mode_t secret = 0600; ///< for missing files that are restored: only root reads them

std::string path_of(const core::StepContext& context) {
    return context.staging + "/runtime-undo.json";
}

/// Restarts the runtime with its restored files, or records that it must be restarted. `then` is the process
/// that ran when the files were overwritten: if it still runs, it has not read them.
Result<void> settle(const Root& root, const std::string& name, const std::optional<ProcessStamp>& then,
                    RecordedRuntime& recorded, bool may_restart) {
    const auto state = read_runtime_named(root, name);
    if (!then || !state)
        return {};
    const auto now = stamp_process(root, state->instance.pid);
    if (now == then)
        return {};
    const bool is_this_boot =
        root.read_line("/proc/sys/kernel/random/boot_id").value_or(std::string()) == then->boot_id;
    if (is_this_boot && may_restart && !state->instance.unit.empty() && state->instance.is_held &&
        harm_of_restart(root, *state).empty())
        return restart_runtime(root, *state, [](std::string_view) {});
    recorded.awaits = now;
    recorded.gives_meanwhile = false; // it is not known which files the process has read
    return {};
}

} // namespace

Result<Text> read_text(const Root& root, const std::string& path) {
    auto text = root.read(path);
    if (!text && text.error().code == Errc::NotFound)
        return Text();
    if (!text)
        return base::fail(text.error());
    return Text(*std::move(text));
}

Result<void> write_text(const Root& root, const std::string& path, const Text& text, mode_t mode) {
    const std::string directory = path.substr(0, path.rfind('/'));
    const std::string unfinished = directory.substr(0, directory.rfind('/')) + "/gpuhost-runtime.unfinished";
    if (!text) {
        GPUHOST_CHECK(root.remove(unfinished));
        GPUHOST_CHECK(root.remove(path));
        return root.exists(directory) ? root.sync_directory(directory) : Result<void>();
    }
    constexpr mode_t permissions = 0777;
    if (const auto st = root.stat(path))
        mode = content::is_ours(root, path) ? st->st_mode & mode : st->st_mode & permissions;
    GPUHOST_CHECK(root.make_directories(directory));
    if (!base::ends_with(directory, ".d"))
        return root.write_atomic(path, *text, mode);
    GPUHOST_CHECK(root.write_atomic(unfinished, *text, mode));
    return root.rename(unfinished, path);
}

void RuntimeUndo::remember(const std::string& name, const RuntimeChange& change,
                           const RecordedRuntime& recorded, const std::optional<ProcessStamp>& process) {
    if (!entries_.contains(name)) {
        RuntimeRecord one;
        one.runtimes[name] = recorded;
        entries_[name].recorded = runtime::to_json(one);
        entries_[name].process = process;
    }
    std::vector<FileChange>& files = entries_[name].files;
    for (const FileChange& file : change.files) {
        const auto known = std::find_if(files.begin(), files.end(),
                                        [&](const FileChange& one) { return one.path == file.path; });
        if (known == files.end()) {
            files.push_back(file);
            continue;
        }
        if (file.before != known->before && file.before != known->after)
            known->before = file.before; // another program has written it since
        known->after = file.after;
    }
}

std::vector<std::string> RuntimeUndo::names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_)
        names.push_back(entry.first);
    return names;
}

Result<void> RuntimeUndo::put_back(const Root& root, const std::string& name, RuntimeRecord& record,
                                   bool may_restart,
                                   const std::function<void(const std::string&)>& warn) const {
    const auto entry = entries_.find(name);
    if (entry == entries_.end())
        return {};
    const std::vector<FileChange>& files = entry->second.files;
    std::string theirs; // content that other programs have written since
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
        GPUHOST_TRY(now, read_text(root, file->path));
        if (now == file->before)
            continue;
        if (now != file->after) {
            warn("'" + file->path + "' was changed meanwhile by another program, so it is left unchanged");
            theirs += now.value_or("");
        } else if (!file->before && theirs.find(file->path) != std::string::npos) {
            warn("'" + file->path + "' is left in place too, because that file refers to it");
        } else {
            GPUHOST_CHECK(write_text(root, file->path, file->before, secret));
        }
    }
    const RuntimeRecord before = runtime_record_from_json(entry->second.recorded);
    std::vector<std::uint64_t> restarts = std::move(record.runtimes[name].restarts);
    RecordedRuntime& recorded = record.runtimes[name] = before.runtimes.at(name);
    recorded.restarts = std::move(restarts);
    return settle(root, name, entry->second.process, recorded, may_restart && theirs.empty());
}

Json RuntimeUndo::to_json() const {
    Json document = Json::object();
    for (const auto& [name, entry] : entries_) {
        Json files = Json::array();
        for (const FileChange& file : entry.files)
            files.push_back({{"path", file.path},
                             {"before", runtime::to_json(file.before)},
                             {"after", runtime::to_json(file.after)}});
        document[name] = {{"files", std::move(files)},
                          {"recorded", entry.recorded},
                          {"process", entry.process ? runtime::to_json(*entry.process) : Json()}};
    }
    return document;
}

RuntimeUndo RuntimeUndo::from_json(const Json& value) {
    RuntimeUndo undo;
    for (const auto& [name, said] : value.items()) {
        Entry& entry = undo.entries_[name];
        entry.recorded = base::member(said, "recorded");
        entry.process = process_stamp_from_json(base::member(said, "process"));
        for (const Json& file : base::member(said, "files"))
            entry.files.push_back({base::string_or(file, "path", ""),
                                   text_from_json(base::member(file, "before")),
                                   text_from_json(base::member(file, "after"))});
    }
    return undo;
}

RuntimeUndo read_undo(const core::StepContext& context) {
    const auto text = context.root.read(path_of(context), undo_limit);
    const auto value = text ? base::parse_json(*text, path_of(context)) : base::fail(text.error());
    return value && value->is_object() ? RuntimeUndo::from_json(*value) : RuntimeUndo();
}

Result<void> write_undo(const core::StepContext& context, const RuntimeUndo& undo) {
    GPUHOST_CHECK(context.root.make_directories(context.staging, 0755));
    return context.root.write_atomic(path_of(context), base::dump(undo.to_json()) + "\n", 0600);
}

} // namespace gpuhost::runtime
