// SPDX-License-Identifier: Apache-2.0
// How a transaction found runtimes' files: in its own directory, durable before the first of them is written.
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
    /// What it knows already stays, but what others have written since: a step that runs again finds its own files.
    /// `process` is the runtime's, which has not read what is about to be written.
    void remember(const std::string& name, const RuntimeChange& change, const RecordedRuntime& recorded,
                  const std::optional<ProcessStamp>& process);
    void forget(const std::string& name) { entries_.erase(name); }
    [[nodiscard]] std::vector<std::string> names() const;

    /// Files that hold what this transaction wrote get back what they had; another's content stays, with a warning, and so does
    /// a file that it names. A runtime
    /// whose process is not the one of before is restarted, but for one that has started after a reboot, when others may wait
    /// for this: the next plan sees to it. `record` gets back its entry.
    [[nodiscard]] base::Result<void> put_back(const base::Root& root, const std::string& name,
                                              RuntimeRecord& record, bool may_restart,
                                              const std::function<void(const std::string&)>& warn) const;

    [[nodiscard]] base::Json to_json() const;
    [[nodiscard]] static RuntimeUndo from_json(const base::Json& value);

  private:
    struct Entry {
        std::vector<FileChange> files; ///< in the order in which they were written
        base::Json recorded;           ///< a RuntimeRecord of this one
        std::optional<ProcessStamp> process;
    };
    std::map<std::string, Entry> entries_;
};

/// Empty where this transaction has written nothing yet.
[[nodiscard]] RuntimeUndo read_undo(const core::StepContext& context);
[[nodiscard]] base::Result<void> write_undo(const core::StepContext& context, const RuntimeUndo& undo);

/// Nothing where there is no such file.
[[nodiscard]] base::Result<Text> read_text(const base::Root& root, const std::string& path);
/// Durable; nothing removes the file. A new one has this mode, another keeps its own, but one of ours gets no more than this.
/// What is half written lies beside a directory of drop-ins, never in it: CRI-O reads all that is there.
[[nodiscard]] base::Result<void> write_text(const base::Root& root, const std::string& path, const Text& text,
                                            mode_t mode);

} // namespace gpuhost::runtime
