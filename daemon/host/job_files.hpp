// SPDX-License-Identifier: Apache-2.0
// The daemon's end of a job's files (core/job.hpp): what every launcher does alike.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/host/event.hpp"
#include "daemon/host/launcher.hpp"

#include <optional>
#include <span>
#include <string>

namespace gpuhost::host {

/// Job directory, request.json and an empty events file, all owned by the worker's user.
[[nodiscard]] base::Result<void> write_job(const base::Root& root, const core::JobRequest& request,
                                           Launcher::Owner owner);

/// A socket with the descriptors queued in it, for the worker's stdin. Reads as end of file once they are
/// taken.
[[nodiscard]] base::Result<base::UniqueFd> socket_with(std::span<const int> descriptors);

/// Follows an events file by inotify and collects its result.
class JobWatch {
  public:
    using Progress = std::function<void(const core::JobProgress&)>;

    /// `progress` may be called before this returns: with what an adopted job wrote while nobody watched.
    [[nodiscard]] base::Result<void> start(Event& event, const base::Root& root, std::string_view job,
                                           Progress progress);
    /// Stops watching and reads what is left. Without a result in the file, `died` is the result.
    [[nodiscard]] JobEnd finish(base::Error died);

  private:
    void read();

    base::UniqueFd events_;
    std::string partial_; ///< the line not yet ended
    Progress progress_;
    std::optional<core::JobResult> result_;
    Source source_;
};

} // namespace gpuhost::host
