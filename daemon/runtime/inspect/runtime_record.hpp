// SPDX-License-Identifier: Apache-2.0
// Records gpuhost's edits of runtimes' files, their earlier content, and the inputs. The daemon can then
// detect changes without reading other programs' files, and can undo all edits.
//
// /var/lib/gpuhost/runtime.json is readable by root alone: Docker's file may contain credentials.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

using Text = std::optional<std::string>; ///< of a file; nothing: it does not exist

/// A file that contains gpuhost's edits.
struct KnownFile {
    Text before;  ///< before the first edit
    Text written; ///< as gpuhost wrote it
};
using KnownFiles = std::map<std::string, KnownFile>;

/// Identifies a process even if its PID is reused.
struct ProcessStamp {
    std::uint64_t pid = 0;
    std::uint64_t started = 0; ///< proc(5) starttime, valid within one boot
    std::string boot_id;
    friend bool operator==(const ProcessStamp&, const ProcessStamp&) = default;
};

struct RecordedRuntime {
    std::string kind;
    std::string outcome;                       ///< as in RuntimePlan
    std::string text;                          ///< a sentence
    bool serves_cri = true;                    ///< usable by a kubelet
    std::string newest_cdi;                    ///< its newest_cdi(), if it gives GPUs by CDI
    KnownFiles files;                          ///< with gpuhost's edits
    KnownFiles unfinished;                     ///< writes in progress, which may have happened
    std::map<std::string, std::string> inputs; ///< path → its stamp_of()
    std::optional<ProcessStamp> awaits;        ///< this process still uses the earlier configuration
    bool gives_meanwhile = false;              ///< that process gives GPUs nevertheless
    std::string restart_text;                  ///< why it was not restarted
    bool is_restart_theirs = false;            ///< a person has announced to do it
    std::string rewritten;                     ///< file whose edits were lost when the runtime restarted
    std::vector<std::uint64_t> restarts;       ///< unrequested ones of the last hour, in seconds since 1970
};

struct RuntimeRecord {
    base::Json settings; ///< of the last run for all runtimes
    std::map<std::string, RecordedRuntime> runtimes;
    std::map<std::string, bool> places; ///< which of known_places() existed
};

[[nodiscard]] base::Json to_json(const RuntimeRecord& record);
[[nodiscard]] RuntimeRecord runtime_record_from_json(const base::Json& value);
/// Returns nothing without a readable record. Callers then assume that nothing was written.
[[nodiscard]] std::optional<RuntimeRecord> read_runtime_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_runtime_record(const base::Root& host, const RuntimeRecord& record);

/// Returns whether the process that must be restarted is still running.
[[nodiscard]] bool awaits_restart(const base::Root& host, const RecordedRuntime& recorded);
/// Returns whether that process gives no GPUs, or reads other specifications than the current ones.
[[nodiscard]] bool withholds_gpus(const base::Root& host, const RecordedRuntime& recorded);

/// Returns a text that changes with every write to a file, or when a directory's entries change; empty: it
/// does not exist.
[[nodiscard]] std::string stamp_of(const base::Root& host, const std::string& path);
/// Returns whether the runtime reads specifications of CDI `spec_version`, if it uses CDI.
[[nodiscard]] bool reads_specs(const RecordedRuntime& recorded, const std::string& spec_version);

/// Returns stamps of the inputs that decide a runtime's configuration: its files, their directories, its
/// program, its unit.
[[nodiscard]] std::map<std::string, std::string> inputs_of(const base::Root& host, const RuntimeState& state);
/// Returns the possible paths of runtimes' programs.
[[nodiscard]] std::vector<std::string> known_programs();
/// Returns the programs and files that indicate a runtime, and whether each exists.
[[nodiscard]] std::map<std::string, bool> known_places(const base::Root& host);
/// Also examines services and processes if none of those places exists, because a runtime may be anywhere.
[[nodiscard]] bool is_any_runtime_here(const base::Root& host);

[[nodiscard]] base::Json to_json(const ProcessStamp& stamp);
[[nodiscard]] std::optional<ProcessStamp> process_stamp_from_json(const base::Json& value);
/// Returns nothing if no such process runs.
[[nodiscard]] std::optional<ProcessStamp> stamp_process(const base::Root& host, std::uint64_t pid);

} // namespace gpuhost::runtime
