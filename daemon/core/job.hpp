// SPDX-License-Identifier: Apache-2.0
// The protocol between daemon and worker: files that remain when either process ends.
//
// /run/gpuhost/jobs/<job>/request.json   written by the daemon before the worker starts
// /run/gpuhost/jobs/<job>/events         appended by the worker: one JSON object a line: progress, and the
//                                        result of each step. A line "next" is between a result and the
//                                        progress of the next step, and is written before that step begins.
// stdin of the worker                    a SOCK_SEQPACKET socket with the input descriptors (SCM_RIGHTS).
//                                        After its end the worker begins no other step.
#pragma once

#include "daemon/core/transaction.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view jobs_directory = "/run/gpuhost/jobs";

// Limits in bytes. A request contains all steps of a plan, so its limit is large. The worker that writes
// events may parse untrusted input, so the daemon limits what it reads from the worker.
inline constexpr std::size_t request_limit = 16U << 20;
inline constexpr std::size_t event_limit = 256U << 10; ///< limit of one line of the file `events`
inline constexpr std::size_t events_limit = 16U << 20; ///< limit of the whole file `events`

/// Each transaction collects its new files in <transaction>/ below this directory, and removes <transaction>/
/// when it ends. A rename publishes the files, so the directory is on the file system of /var/lib/gpuhost.
inline constexpr std::string_view staging_directory = "/var/lib/gpuhost/staging";

struct JobRequest {
    /// "12-3-1": id of the transaction, number of the Start record, attempt. The worker's unit is
    /// gpuhost-worker-<job>.
    std::string job;
    Phase phase = Phase::Preflight;
    std::vector<Step> steps; ///< preflight and apply: all steps of the group; undo: one step
    base::Json settings;
    std::string boot_id;
    std::string staging;
    std::size_t inputs = 0; ///< number of descriptors to expect on stdin
};

struct JobProgress {
    double fraction = -1; ///< 0 to 1, of this step; negative: unknown
    std::string text;
};

struct JobResult {
    std::optional<base::Error> error;
    std::vector<Problem> problems; ///< found by preflight; else empty
    base::Json output;             ///< the object that apply returned, "warnings" and "notes"
};

[[nodiscard]] std::string job_directory(std::string_view job);
[[nodiscard]] std::string staging_of(std::uint64_t transaction);
[[nodiscard]] base::Json to_json(const JobRequest& request);
[[nodiscard]] base::Result<JobRequest> job_request_from_json(const base::Json& value);

[[nodiscard]] std::string encode_event(const JobProgress& progress);
/// Encodes a result as one line. If the line would exceed event_limit, drops the last problems and adds a
/// problem that states how many were dropped.
[[nodiscard]] std::string encode_event(const JobResult& result);

/// Encodes the line that a worker writes before it begins a further step of its request, namely the step
/// `index`.
[[nodiscard]] std::string encode_next(std::size_t index);

/// One line of an events file. An invalid line has no member.
struct JobEvent {
    std::optional<JobProgress> progress;
    std::optional<JobResult> result;
    std::optional<std::size_t> next; ///< the step of the request that begins
};
[[nodiscard]] JobEvent decode_event(std::string_view line);

} // namespace gpuhost::core
