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
/// that ran when the change was written. If it still runs, it has never read the change and needs no restart.
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

Result<RuntimeUndo> RuntimeUndo::read(const core::StepContext& context) {
    RuntimeUndo undo(context);
    const auto text = context.root.read(path_of(context), undo_limit);
    if (!text && text.error().code == Errc::NotFound)
        return undo;
    if (!text)
        return base::fail(text.error());
    GPUHOST_TRY(document, base::parse_json(*text, path_of(context)));
    for (const auto& [name, value] : document.items()) {
        Entry& entry = undo.entries_[name];
        entry.recorded = runtime_record_from_json(base::member(value, "recorded"));
        entry.process = process_stamp_from_json(base::member(value, "process"));
        for (const Json& file : base::member(value, "files"))
            entry.files.push_back({base::string_or(file, "path", ""),
                                   text_from_json(base::member(file, "before")),
                                   text_from_json(base::member(file, "after"))});
    }
    return undo;
}

Result<void> RuntimeUndo::write() const {
    Json document = Json::object();
    for (const auto& [name, entry] : entries_) {
        Json files = Json::array();
        for (const FileChange& file : entry.files)
            files.push_back(
                {{"path", file.path}, {"before", to_json(file.before)}, {"after", to_json(file.after)}});
        document[name] = {{"files", std::move(files)},
                          {"recorded", to_json(entry.recorded)},
                          {"process", entry.process ? to_json(*entry.process) : Json()}};
    }
    GPUHOST_CHECK(root_.make_directories(context_.staging, 0755));
    return root_.write_atomic(path_of(context_), base::dump(document) + "\n", 0600);
}

Result<void> RuntimeUndo::save(const std::string& name, const RuntimeChange& change,
                               const RecordedRuntime& recorded, const std::optional<ProcessStamp>& process) {
    const auto [place, is_first] = entries_.try_emplace(name);
    Entry& entry = place->second;
    if (is_first) {
        entry.recorded.runtimes[name] = recorded;
        entry.process = process;
    }
    for (const FileChange& file : change.files) {
        const auto known = std::find_if(entry.files.begin(), entry.files.end(),
                                        [&](const FileChange& one) { return one.path == file.path; });
        if (known == entry.files.end()) {
            entry.files.push_back(file);
            continue;
        }
        if (file.before != known->before && file.before != known->after)
            known->before = file.before; // another program has written the file since
        known->after = file.after;
    }
    return write();
}

Result<void> RuntimeUndo::put_back(const std::string& name, RuntimeRecord& record, bool may_restart) const {
    const auto entry = entries_.find(name);
    if (entry == entries_.end())
        return {};
    const std::vector<FileChange>& files = entry->second.files;
    std::string theirs; // content that other programs have written since
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
        GPUHOST_TRY(now, read_text(root_, file->path));
        if (now == file->before)
            continue;
        if (now != file->after) {
            context_.warn("'" + file->path +
                          "' was changed meanwhile by another program, so it is left unchanged");
            theirs += now.value_or("");
        } else if (!file->before && theirs.find(file->path) != std::string::npos) {
            context_.warn("'" + file->path + "' is left in place too, because that file refers to it");
        } else {
            GPUHOST_CHECK(write_text(root_, file->path, file->before, secret));
        }
    }
    RecordedRuntime& recorded = record.runtimes[name];
    std::vector<std::uint64_t> restarts = std::move(recorded.restarts);
    recorded = entry->second.recorded.runtimes.at(name);
    recorded.restarts = std::move(restarts);
    return settle(root_, name, entry->second.process, recorded, may_restart && theirs.empty());
}

Result<void> RuntimeUndo::put_all_back(bool may_restart) const {
    RuntimeRecord record = read_runtime_record(root_).value_or(RuntimeRecord());
    Result<void> failed;
    for (const auto& entry : entries_)
        if (auto back = put_back(entry.first, record, may_restart); !back && failed)
            failed = base::fail(back.error().context(entry.first));
    GPUHOST_CHECK(write_runtime_record(root_, record));
    return failed;
}

Result<void> RuntimeUndo::forget(const std::string& name) {
    entries_.erase(name);
    return write();
}

} // namespace gpuhost::runtime
