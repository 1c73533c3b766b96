// SPDX-License-Identifier: Apache-2.0
// Runtimes' files as a transaction found them. The copy is in its own directory, and durable before the first
// write.
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
    /// Adds the change. Known entries stay, unless another program has written the file since: a repeated
    /// step finds its own files. `process` is the runtime's process, which has not read the new files.
    void remember(const std::string& name, const RuntimeChange& change, const RecordedRuntime& recorded,
                  const std::optional<ProcessStamp>& process);
    void forget(const std::string& name) { entries_.erase(name); }
    [[nodiscard]] std::vector<std::string> names() const;

    /// Restores files that still hold this transaction's text. Content of others stays, with a warning, and
    /// so does a new file that such content names. Restarts a runtime if its process is a new one and no
    /// content of others stays. After a reboot it does not restart, because other services may wait for this;
    /// the next plan does it. Restores the entry in `record`.
    [[nodiscard]] base::Result<void> put_back(const base::Root& root, const std::string& name,
                                              RuntimeRecord& record, bool may_restart,
                                              const std::function<void(const std::string&)>& warn) const;

    [[nodiscard]] base::Json to_json() const;
    [[nodiscard]] static RuntimeUndo from_json(const base::Json& value);

  private:
    struct Entry {
        std::vector<FileChange> files; ///< in the order of writing
        base::Json recorded;           ///< a RuntimeRecord with this runtime only
        std::optional<ProcessStamp> process;
    };
    std::map<std::string, Entry> entries_;
};

/// Returns an empty value if this transaction has written nothing yet.
[[nodiscard]] RuntimeUndo read_undo(const core::StepContext& context);
[[nodiscard]] base::Result<void> write_undo(const core::StepContext& context, const RuntimeUndo& undo);

/// Returns nothing if the file does not exist.
[[nodiscard]] base::Result<Text> read_text(const base::Root& root, const std::string& path);
/// Writes durably; no text removes the file. A new file gets `mode`. An existing one keeps its own mode,
/// which `mode` limits if the file is gpuhost's. Unfinished files are beside a directory of drop-ins, never
/// in it: CRI-O reads all files there.
[[nodiscard]] base::Result<void> write_text(const base::Root& root, const std::string& path, const Text& text,
                                            mode_t mode);

} // namespace gpuhost::runtime
