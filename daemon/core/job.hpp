// SPDX-License-Identifier: Apache-2.0
// The protocol between daemon and worker: files that survive the death of either side.
//
// /run/gpuhost/jobs/<job>/request.json   written by the daemon before it starts the worker or sends the job
// /run/gpuhost/jobs/<job>/events         appended by the worker: one JSON object a line, the result last
// /run/gpuhost/jobs/<job>/worker         the worker's first job, if this is a later one
// stdin                                  a SOCK_SEQPACKET socket with the input descriptors (SCM_RIGHTS),
//                                        then the name of each further job
#pragma once

#include "daemon/core/transaction.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view jobs_directory = "/run/gpuhost/jobs";

// Bytes. A request holds a plan's steps, so its limit is large. Events are limited because their writers read
// foreign input and are not trusted to stop.
inline constexpr std::size_t request_limit = 16U << 20;
inline constexpr std::size_t event_limit = 256U << 10; ///< one line
inline constexpr std::size_t events_limit = 16U << 20; ///< the file

/// Directory for the files that a transaction of any subsystem brings in, until a rename publishes them. It
/// is therefore on the same file system as /var/lib/gpuhost. <transaction>/ is removed when its transaction
/// ends.
inline constexpr std::string_view staging_directory = "/var/lib/gpuhost/staging";

struct JobRequest {
    /// "12-3-1": transaction, start number, attempt. A worker's first job names its unit,
    /// gpuhost-worker-<job>.
    std::string job;
    Phase phase = Phase::Preflight;
    std::vector<Step> steps; ///< all steps of a group for preflight, else one
    base::Json settings;
    std::string boot_id;
    std::string staging;
    std::size_t inputs = 0; ///< descriptors to expect on stdin
};

struct JobProgress {
    double fraction = -1;
    std::string text;
};

struct JobResult {
    std::optional<base::Error> error;
    std::vector<Problem> problems; ///< of preflight; empty if it found none
    base::Json output;
};

[[nodiscard]] std::string job_directory(std::string_view job);
[[nodiscard]] std::string staging_of(std::uint64_t transaction);
[[nodiscard]] base::Json to_json(const JobRequest& request);
[[nodiscard]] base::Result<JobRequest> job_request_from_json(const base::Json& value);

[[nodiscard]] std::string encode_event(const JobProgress& progress);
/// Encodes a result as one line. Drops the last problems if the line would exceed event_limit.
[[nodiscard]] std::string encode_event(const JobResult& result);

/// The content of an events file; incomplete and invalid lines are skipped.
struct JobEvents {
    std::optional<JobProgress> progress; ///< the newest
    std::optional<JobResult> result;
};
[[nodiscard]] JobEvents decode_events(std::string_view text);

} // namespace gpuhost::core
