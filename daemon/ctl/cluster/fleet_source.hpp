// SPDX-License-Identifier: Apache-2.0
// What gpuhost-cluster says of the fleet. It is a program of its own, which is not root: it alone speaks to an API server.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/process.hpp"

#include <chrono>
#include <string>

namespace gpuhost::ctl {

class FleetSource {
  public:
    /// `root` as --root has it. With `follow` documents come until this goes.
    [[nodiscard]] static base::Result<FleetSource> start(const std::string& root, bool follow);

    enum class Event { Document, Timeout, Interrupted };
    /// Waits so long for a document, or until `interrupt` (a descriptor, or -1) is readable. An error is final.
    [[nodiscard]] base::Result<Event> wait(std::chrono::milliseconds most, int interrupt);
    /// Of the last Document; {"error": …} while the one before may be out of date.
    [[nodiscard]] const base::Json& document() const { return document_; }

  private:
    explicit FleetSource(base::Running program) : program_(std::move(program)) {}
    [[nodiscard]] base::Result<bool> take_line();
    [[nodiscard]] base::Result<void> read();

    base::Running program_;
    std::string buffer_;
    std::size_t searched_ = 0; ///< of the buffer, for a line's end
    base::Json document_;
};

} // namespace gpuhost::ctl
