// SPDX-License-Identifier: Apache-2.0
// Reads the state of the fleet from `gpuhost-cluster --fleet`. Only that program, which does not run as root,
// connects to an API server.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/process.hpp"

#include <chrono>
#include <string>

namespace gpuhost::ctl {

class FleetSource {
  public:
    /// Starts gpuhost-cluster. `root` is the value of --root. `kubeconfig` is an absolute path; empty: this
    /// host's own. With `watch`, gpuhost-cluster sends documents until this object is destroyed.
    [[nodiscard]] static base::Result<FleetSource> start(const std::string& root,
                                                         const std::string& kubeconfig, bool watch);

    enum class Event { Document, Timeout, Interrupted };
    /// Waits at most `most` for a document, or until `interrupt` (a descriptor, or -1) is readable. After an
    /// error no further document arrives.
    [[nodiscard]] base::Result<Event> wait(std::chrono::milliseconds most, int interrupt);
    /// Returns the last document. It is {"error": …} while the previous document may be out of date.
    [[nodiscard]] const base::Json& document() const { return document_; }

  private:
    explicit FleetSource(base::Running program) : program_(std::move(program)) {}
    [[nodiscard]] base::Result<bool> read_line();
    [[nodiscard]] base::Result<void> read();

    base::Running program_;
    std::string buffer_;
    std::size_t searched_ = 0; ///< bytes of the buffer already searched for a line feed
    base::Json document_;
};

} // namespace gpuhost::ctl
