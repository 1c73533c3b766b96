// SPDX-License-Identifier: Apache-2.0
// What gpuhost has written into runtimes' files, what stood there before, and what it looked at: so that the daemon knows
// without reading a foreign file whether to look again, and so that everything can be taken out.
//
// /var/lib/gpuhost/runtime.json, of root alone: Docker's file may have credentials in it.
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

using Text = std::optional<std::string>; ///< of a file; nothing: it is not there

/// What is remembered of a file with something of ours.
struct KnownFile {
    Text before;  ///< what stood there before anything of ours
    Text written; ///< what we left there
};
using KnownFiles = std::map<std::string, KnownFile>;

/// A process by what no later one with its number has.
struct ProcessStamp {
    std::uint64_t pid = 0;
    std::uint64_t started = 0; ///< proc(5), starttime; in one boot
    std::string boot_id;
    friend bool operator==(const ProcessStamp&, const ProcessStamp&) = default;
};

struct RecordedRuntime {
    std::string kind;
    std::string outcome;                       ///< as in RuntimePlan
    std::string text;                          ///< a sentence
    bool serves_cri = true;                    ///< a kubelet can use it
    std::string newest_cdi;                    ///< of newest_cdi(), where it gives GPUs by CDI
    KnownFiles files;                          ///< of ours
    KnownFiles unfinished;                     ///< what is about to be written, and may have been
    std::map<std::string, std::string> inputs; ///< path → what stamp_of() said of it
    std::optional<ProcessStamp> awaits;        ///< it runs with what was configured before
    bool gives_meanwhile = false;              ///< that one gives GPUs all the same
    std::string restart_text;                  ///< why it was not started again
    bool is_restart_theirs = false;            ///< somebody has said that they would do it
    std::string rewritten; ///< this file did not keep what we wrote when the runtime was restarted
    std::vector<std::uint64_t> restarts; ///< seconds since 1970, of the last hour, that nobody asked for
};

struct RuntimeRecord {
    base::Json settings; ///< of the last time that all runtimes were looked at
    std::map<std::string, RecordedRuntime> runtimes;
    std::map<std::string, bool> places; ///< which of known_places() there were
};

[[nodiscard]] base::Json to_json(const RuntimeRecord& record);
[[nodiscard]] RuntimeRecord runtime_record_from_json(const base::Json& value);
/// Nothing where there is none that can be read: then nothing is known to have been written.
[[nodiscard]] std::optional<RuntimeRecord> read_runtime_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_runtime_record(const base::Root& host, const RuntimeRecord& record);

/// Returns whether the process that was to be restarted still runs.
[[nodiscard]] bool awaits_restart(const base::Root& host, const RecordedRuntime& recorded);
/// Returns whether that process gives no GPUs, or not those of the specifications.
[[nodiscard]] bool withholds_gpus(const base::Root& host, const RecordedRuntime& recorded);

/// Changes with every write to a file, or with what comes and goes in a directory; empty: it is not there.
[[nodiscard]] std::string stamp_of(const base::Root& host, const std::string& path);
/// Returns whether it reads specifications of CDI `spec_version`, if it takes any.
[[nodiscard]] bool reads_specs(const RecordedRuntime& recorded, const std::string& spec_version);

/// What decides how a runtime is to be configured: its files, their directories, its program, its unit.
[[nodiscard]] std::map<std::string, std::string> inputs_of(const base::Root& host, const RuntimeState& state);
/// Paths at which a runtime's program may be.
[[nodiscard]] std::vector<std::string> known_programs();
/// Programs and files that say that there is a runtime.
[[nodiscard]] std::map<std::string, bool> known_places(const base::Root& host);
/// Looks at services and processes too, where none of those places says so: a runtime may be anywhere.
[[nodiscard]] bool is_any_runtime_here(const base::Root& host);

[[nodiscard]] base::Json to_json(const ProcessStamp& stamp);
[[nodiscard]] std::optional<ProcessStamp> process_stamp_from_json(const base::Json& value);
/// Nothing where no such process runs.
[[nodiscard]] std::optional<ProcessStamp> stamp_process(const base::Root& host, std::uint64_t pid);

} // namespace gpuhost::runtime
