// SPDX-License-Identifier: Apache-2.0
// Runs the distribution's programs that make and sign repositories of packages (apt-ftparchive, createrepo_c,
// gpg), in a temporary directory.
#pragma once

#include "daemon/base/interrupt.hpp"
#include "daemon/base/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gpuhost::images {

struct Tool {
    std::string program;
    std::string package; ///< the operating system's package that contains it, for the error if it is missing
};

/// A temporary directory, which the destructor removes. Its subdirectory tree/ has links to the packages, and
/// the files that the tools write. While the object exists, Ctrl-C ends the running tool. gpuhostctl then
/// removes the directory and ends too.
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

    /// Runs a tool in tree/. `output` is a path in tree/ for its standard output; empty: discarded. The
    /// output gets that path only after the tool has ended, because some tools read all files in tree/. Fails
    /// if the exit status is not 0.
    [[nodiscard]] base::Result<void> run(const Tool& tool, std::vector<std::string> words,
                                         const std::string& output) const;
    /// Runs a tool in tree/ and returns its result, also for an exit status other than 0.
    [[nodiscard]] base::Result<base::Finished> attempt(const Tool& tool,
                                                       std::vector<std::string> words) const;

  private:
    Workshop() = default;
    /// Handles Ctrl-C as long as this member exists: until the destructor has removed the directory.
    std::unique_ptr<base::Interrupt> interrupt_ = std::make_unique<base::Interrupt>();
    std::string directory_;
};

} // namespace gpuhost::images
