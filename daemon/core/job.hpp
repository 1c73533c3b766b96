// SPDX-License-Identifier: Apache-2.0
// What daemon and worker say to each other, through files that both survive the other's death.
//
// /run/gpuhost/jobs/<job>/request.json   written by the daemon before the worker starts, or is told of it
// /run/gpuhost/jobs/<job>/events         appended by the worker: one JSON object a line, the result last
// /run/gpuhost/jobs/<job>/worker         where it is not the worker's first job: that one
// stdin                                  a SOCK_SEQPACKET socket with the input descriptors (SCM_RIGHTS), and then the name
//                                        of each further job
#pragma once

#include "daemon/core/transaction.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view jobs_directory = "/run/gpuhost/jobs";

// Bytes. A request has a plan's steps, so it is as long as a journal may be. Events are written by workers that
// read foreign input, and are not trusted to end.
inline constexpr std::size_t request_limit = 16U << 20;
inline constexpr std::size_t event_limit = 256U << 10; ///< one line
inline constexpr std::size_t events_limit = 16U << 20; ///< the file

/// What a transaction brings in, any room's, until it is renamed to its place: so on one file system with all
/// of /var/lib/gpuhost. <transaction>/ goes when its transaction ends.
inline constexpr std::string_view staging_directory = "/var/lib/gpuhost/staging";

struct JobRequest {
    std::string
        job; ///< "12-3-1": transaction, running number, attempt; a worker's first is in its unit's name gpuhost-worker-<job>
    Phase phase = Phase::Preflight;
    std::vector<Step> steps; ///< all of them for preflight, else one
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
    std::vector<Problem> problems; ///< of preflight; none means clear
    base::Json output;
};

[[nodiscard]] std::string job_directory(std::string_view job);
[[nodiscard]] std::string staging_of(std::uint64_t transaction);
[[nodiscard]] base::Json to_json(const JobRequest& request);
[[nodiscard]] base::Result<JobRequest> job_request_from_json(const base::Json& value);

[[nodiscard]] std::string encode_event(const JobProgress& progress);
/// Leaves out the last of the problems where all of them would make the line longer than event_limit.
[[nodiscard]] std::string encode_event(const JobResult& result);

/// What stands in an events file; lines that are not whole or not ours are skipped.
struct JobEvents {
    std::optional<JobProgress> progress; ///< the newest
    std::optional<JobResult> result;
};
[[nodiscard]] JobEvents decode_events(std::string_view text);

} // namespace gpuhost::core
