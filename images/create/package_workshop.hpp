// SPDX-License-Identifier: Apache-2.0
// Where the programs run that make and sign repositories of packages.
#pragma once

#include "daemon/base/interrupt.hpp"
#include "daemon/base/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gpuhost::images {

struct Tool {
    std::string program;
    std::string package; ///< that has it
};

/// A directory that goes with it: links to the packages in tree/, and beside them whatever the tools write. Ctrl-C ends
/// the tool that runs, and gpuhostctl once the directory is gone.
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

    /// `output` is a path in the tree; empty: nowhere. It appears when it is whole: some tools look at all that is there.
    [[nodiscard]] base::Result<void> run(const Tool& tool, std::vector<std::string> words,
                                         const std::string& output) const;
    /// Whatever its exit status.
    [[nodiscard]] base::Result<base::Finished> attempt(const Tool& tool,
                                                       std::vector<std::string> words) const;

  private:
    Workshop() = default;
    std::unique_ptr<base::Interrupt> interrupt_ = std::make_unique<base::Interrupt>(); ///< goes last
    std::string directory_;
};

} // namespace gpuhost::images
