// SPDX-License-Identifier: Apache-2.0
// Records gpuhost's edits of runtimes' files, the files' earlier contents, and the inputs of the edits. The
// daemon can then detect changes without reading other programs' files, and can undo all edits.
//
// /var/lib/gpuhost/runtime.json is readable by root alone: Docker's file may contain credentials.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

using Text = std::optional<std::string>; ///< content of a file; nullopt if it does not exist

/// A file that contains gpuhost's edits, by its contents.
struct KnownFile {
    Text before;  ///< before gpuhost's first edit
    Text written; ///< as gpuhost wrote it
};
using KnownFiles = std::map<std::string, KnownFile>;
/// Convert a text; null stands for a missing file.
[[nodiscard]] base::Json to_json(const Text& text);
[[nodiscard]] Text text_from_json(const base::Json& value);

/// Identifies a process even if its PID is reused.
struct ProcessStamp {
    std::uint64_t pid = 0;
    std::uint64_t started = 0; ///< proc(5) starttime, valid within one boot
    std::string boot_id;
    friend bool operator==(const ProcessStamp&, const ProcessStamp&) = default;
};

struct RecordedRuntime {
    std::string kind;
    std::string outcome;    ///< as in RuntimePlan, or "restored"
    std::string text;       ///< a sentence about the outcome
    bool serves_cri = true; ///< usable by a kubelet
    std::string newest_cdi; ///< its newest_cdi() if it gives GPUs by CDI; else empty
    KnownFiles files;       ///< files that contain gpuhost's edits, by path
    KnownFiles unfinished;  ///< files whose write has begun; after a crash it may or may not have happened
    std::map<std::string, std::string> inputs; ///< path of each input → its stamp_of()
    /// The process that must be restarted, because it uses the earlier configuration.
    std::optional<ProcessStamp> awaits;
    bool gives_meanwhile = false;   ///< the process in `awaits` already gives GPUs to containers
    std::string restart_text;       ///< why the runtime was not restarted
    bool is_restart_theirs = false; ///< an administrator restarts the runtime (--no-restart)
    std::string rewritten; ///< file that the runtime's service rewrote at a restart, without gpuhost's edits
    /// Times of the last hour's restarts that no request asked for, in seconds since 1970.
    std::vector<std::uint64_t> restarts;
};

struct RuntimeRecord {
    base::Json settings; ///< settings of the last run for all runtimes
    std::map<std::string, RecordedRuntime> runtimes;
    std::map<std::string, bool> places; ///< which of known_places() existed
};

[[nodiscard]] base::Json to_json(const RuntimeRecord& record);
[[nodiscard]] RuntimeRecord runtime_record_from_json(const base::Json& value);
/// Returns nullopt without a readable record. Callers then assume that nothing was written.
[[nodiscard]] std::optional<RuntimeRecord> read_runtime_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_runtime_record(const base::Root& host, const RuntimeRecord& record);

/// Returns true if the process in `awaits` still runs.
[[nodiscard]] bool awaits_restart(const base::Root& host, const RecordedRuntime& recorded);
/// Returns true if the process in `awaits` still runs, and does not give GPUs to containers.
[[nodiscard]] bool withholds_gpus(const base::Root& host, const RecordedRuntime& recorded);

/// Returns a text that changes with every write to a file, or with every change of a directory's entries;
/// empty if `path` does not exist.
[[nodiscard]] std::string stamp_of(const base::Root& host, const std::string& path);
/// Returns true if the runtime reads specifications of CDI `spec_version`, or does not use CDI.
[[nodiscard]] bool reads_specs(const RecordedRuntime& recorded, const std::string& spec_version);

/// Returns the stamps of the inputs that decide a runtime's configuration: its files and their directories,
/// its program and its unit.
[[nodiscard]] std::map<std::string, std::string> inputs_of(const base::Root& host, const RuntimeState& state);
/// Returns the paths that runtimes' programs may have.
[[nodiscard]] std::vector<std::string> known_programs();
/// Returns the paths of programs and files that indicate a runtime, and for each whether it exists.
[[nodiscard]] std::map<std::string, bool> known_places(const base::Root& host);
/// Returns true if the host seems to have a container runtime. If none of known_places() exists, examines
/// services and processes, because a runtime's files may be anywhere.
[[nodiscard]] bool is_any_runtime_here(const base::Root& host);

[[nodiscard]] base::Json to_json(const ProcessStamp& stamp);
[[nodiscard]] std::optional<ProcessStamp> process_stamp_from_json(const base::Json& value);
/// Returns nullopt if no process with this PID runs.
[[nodiscard]] std::optional<ProcessStamp> stamp_process(const base::Root& host, std::uint64_t pid);

} // namespace gpuhost::runtime
