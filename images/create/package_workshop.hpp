// SPDX-License-Identifier: Apache-2.0
// Runs the programs that make and sign repositories of packages.
#pragma once

#include "daemon/base/interrupt.hpp"
#include "daemon/base/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gpuhost::images {

struct Tool {
    std::string program;
    std::string package; ///< the package that contains it
};

/// A temporary directory, removed with the object. tree/ has links to the packages and the files that the
/// tools write. Ctrl-C ends the running tool, and gpuhostctl after the directory is removed.
class Workshop {
  public:
    [[nodiscard]] static base::Result<Workshop> open(const std::string& scratch);
    Workshop(Workshop&& other) noexcept;
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;
    Workshop& operator=(Workshop&&) = delete;
    ~Workshop();

    [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
    [[nodiscard]] std::string tree() const { return path("tree"); }

    /// Runs a tool. `output` is a path in the tree for its standard output; empty: discarded. The file
    /// appears only when complete, because some tools read all files in the tree.
    [[nodiscard]] base::Result<void> run(const Tool& tool, std::vector<std::string> words,
                                         const std::string& output) const;
    /// Returns the result whatever the exit status.
    [[nodiscard]] base::Result<base::Finished> attempt(const Tool& tool,
                                                       std::vector<std::string> words) const;

  private:
    Workshop() = default;
    std::unique_ptr<base::Interrupt> interrupt_ = std::make_unique<base::Interrupt>(); ///< destroyed last
    std::string directory_;
};

} // namespace gpuhost::images
