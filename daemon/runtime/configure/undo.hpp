// SPDX-License-Identifier: Apache-2.0
// Copies of runtimes' files as a transaction found them. They are in the transaction's staging directory, and
// are synced before the first file is changed.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/change.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::runtime {

class RuntimeUndo {
  public:
    /// Adds a change of runtime `name`. If the step runs again after an interruption, the first copy of a
    /// file stays, unless another program has written the file since. `process` is the runtime's process,
    /// which has not read the new files; nullopt if no restart is needed.
    void remember(const std::string& name, const RuntimeChange& change, const RecordedRuntime& recorded,
                  const std::optional<ProcessStamp>& process);
    void forget(const std::string& name) { entries_.erase(name); }
    [[nodiscard]] std::vector<std::string> names() const;

    /// Restores files that still have this transaction's text. A file that another program has changed stays,
    /// with a warning. A file that this transaction added also stays if such a changed file refers to it.
    /// Restarts a runtime whose process is a new one if all files were restored. After a reboot it does not
    /// restart runtimes, because other services may wait for this operation: the next plan does it. Restores
    /// the runtime's entry in `record`.
    [[nodiscard]] base::Result<void> put_back(const base::Root& root, const std::string& name,
                                              RuntimeRecord& record, bool may_restart,
                                              const std::function<void(const std::string&)>& warn) const;

    [[nodiscard]] base::Json to_json() const;
    [[nodiscard]] static RuntimeUndo from_json(const base::Json& value);

  private:
    struct Entry {
        std::vector<FileChange> files; ///< in the order of writing
        base::Json recorded;           ///< a RuntimeRecord with the entry of this runtime only
        std::optional<ProcessStamp> process;
    };
    std::map<std::string, Entry> entries_;
};

/// Reads the copies; empty if this transaction has written none yet.
[[nodiscard]] RuntimeUndo read_undo(const core::StepContext& context);
[[nodiscard]] base::Result<void> write_undo(const core::StepContext& context, const RuntimeUndo& undo);

/// Returns the content of a file; an empty Text if the file does not exist.
[[nodiscard]] base::Result<Text> read_text(const base::Root& root, const std::string& path);
/// Writes a file and syncs it; without a text, removes the file. A new file gets `mode`. An existing file
/// keeps its mode; if it is gpuhost's, only the bits in `mode`. In a directory of drop-ins, the temporary
/// file is created beside the directory: CRI-O reads every file in it.
[[nodiscard]] base::Result<void> write_text(const base::Root& root, const std::string& path, const Text& text,
                                            mode_t mode);

} // namespace gpuhost::runtime
