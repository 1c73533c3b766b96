// SPDX-License-Identifier: Apache-2.0
// Copies of runtimes' files as a transaction found them. They are in the transaction's staging directory, and
// are synced before the first file is changed.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/change.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::runtime {

class RuntimeUndo {
  public:
    /// Reads the copies; there are none if this transaction has written none yet. `context` must outlive the
    /// object. Fails if the copies exist but can't be read.
    [[nodiscard]] static base::Result<RuntimeUndo> read(const core::StepContext& context);

    /// Copies what a change of runtime `name` replaces. If the step runs again after an interruption, the
    /// first copy of a file stays, unless another program has written the file since. `process` is the
    /// runtime's process before its restart. Without a restart it is nullopt.
    [[nodiscard]] base::Result<void> save(const std::string& name, const RuntimeChange& change,
                                          const RecordedRuntime& recorded,
                                          const std::optional<ProcessStamp>& process);
    /// Restores files that still have this transaction's text. A file that another program has changed stays,
    /// with a warning. A file that this transaction added also stays if such a changed file refers to it. If
    /// all files were restored and the runtime has a new process, restarts the runtime. After a reboot the
    /// next plan restarts it instead, because other services may wait for this operation. Restores the
    /// runtime's entry in `record`.
    [[nodiscard]] base::Result<void> put_back(const std::string& name, RuntimeRecord& record,
                                              bool may_restart) const;
    /// Restores the files of all runtimes and writes the record. Undoes the step, also after a reboot.
    [[nodiscard]] base::Result<void> put_all_back(bool may_restart) const;
    /// Deletes the copies of a runtime whose files are restored.
    [[nodiscard]] base::Result<void> forget(const std::string& name);

  private:
    struct Entry {
        std::vector<FileChange> files; ///< in the order of writing
        RuntimeRecord recorded;        ///< with the entry of this runtime only
        std::optional<ProcessStamp> process;
    };
    explicit RuntimeUndo(const core::StepContext& context) : context_(context), root_(context.root) {}
    [[nodiscard]] base::Result<void> write() const;

    const core::StepContext& context_;
    const base::Root& root_;
    std::map<std::string, Entry> entries_;
};

/// Returns the content of a file; an empty Text if the file does not exist.
[[nodiscard]] base::Result<Text> read_text(const base::Root& root, const std::string& path);
/// Writes a file and syncs it; without a text, removes the file. A new file gets `mode`. An existing file
/// keeps its mode, but a file of gpuhost keeps only the bits that are also in `mode`. For a drop-in, the
/// temporary file is created beside the directory of drop-ins, because CRI-O reads every file in that
/// directory.
[[nodiscard]] base::Result<void> write_text(const base::Root& root, const std::string& path, const Text& text,
                                            mode_t mode);

} // namespace gpuhost::runtime
