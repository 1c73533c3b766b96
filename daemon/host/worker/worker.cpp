// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/worker.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/core/job.hpp"
#include "daemon/host/worker/worker_socket.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>

namespace gpuhost::host {

namespace {

using base::Errc;
using base::Error;
using base::Result;
using base::UniqueFd;

/// Appends progress to the events file, at most 10 times a second.
class Reporter {
  public:
    explicit Reporter(int fd) : fd_(fd) {}

    void progress(double fraction, std::string_view text) {
        constexpr std::uint64_t interval_us = 100'000;
        const std::uint64_t now = base::monotonic_us();
        if (last_us_ != 0 && now - last_us_ < interval_us)
            return;
        last_us_ = now;
        // A failed write of progress is ignored. A failed write of the result makes the worker fail.
        (void)write(core::encode_event(core::JobProgress{fraction, std::string(text)}));
    }
    [[nodiscard]] Result<void> result(const core::JobResult& result) {
        return write(core::encode_event(result));
    }
    [[nodiscard]] Result<void> next(std::size_t index) {
        last_us_ = 0;
        return write(core::encode_next(index));
    }

  private:
    /// Writes one line. A failed write may leave a part of its line, so the next write begins a new line.
    Result<void> write(const std::string& line) {
        auto written = base::write_all(fd_, (is_torn_ ? "\n" : "") + line, "events");
        is_torn_ = !written;
        return written;
    }

    int fd_;
    bool is_torn_ = false; ///< the last write failed
    std::uint64_t last_us_ = 0;
};

Result<std::vector<UniqueFd>> receive_inputs(std::size_t expected) {
    std::vector<UniqueFd> inputs = receive_descriptors(STDIN_FILENO, expected);
    if (inputs.size() != expected)
        return base::fail(Errc::Failed, "the worker did not receive the input files",
                          "Repeat the request with the same files.");
    return inputs;
}

/// Returns the problems of all steps, not only the first, so that a person can solve all of them before the
/// next try.
core::JobResult preflight(const core::StepCodes& codes, const core::JobRequest& request,
                          core::StepContext& context) {
    core::JobResult result;
    for (const core::Step& step : request.steps) {
        const core::StepCode* code = codes.find(step.kind);
        if (!code->preflight)
            continue;
        auto found = code->preflight(context, step.args);
        if (!found) {
            result.error = found.error().context(step.summary);
            return result;
        }
        std::move(found->begin(), found->end(), std::back_inserter(result.problems));
    }
    return result;
}

core::JobResult apply(const core::StepCode& code, const core::Step& step, core::StepContext& context) {
    core::JobResult result;
    auto output = code.apply(context, step.args);
    if (!output) {
        result.error = std::move(output).error();
        return result;
    }
    result.output = *std::move(output);
    if (auto verified = code.verify ? code.verify(context, step.args) : Result<void>(); !verified)
        result.error = std::move(verified).error();
    return result;
}

core::JobResult undo(const core::StepCode& code, const core::Step& step, core::StepContext& context) {
    core::JobResult result;
    if (auto undone = code.undo ? code.undo(context, step.args) : Result<void>(); !undone)
        result.error = std::move(undone).error();
    return result;
}

Result<core::JobRequest> read_request(const base::Root& root, const core::StepCodes& codes,
                                      std::string_view job) {
    GPUHOST_TRY(text, root.read(core::job_directory(job) + "/request.json", core::request_limit));
    GPUHOST_TRY(json, base::parse_json(text, "request.json"));
    GPUHOST_TRY(request, core::job_request_from_json(json));
    for (const core::Step& step : request.steps)
        if (!codes.find(step.kind))
            return base::fail(Errc::Failed, "unknown step kind '" + step.kind + "'");
    return request;
}

/// Limits "journalctl -k" in a hint to the time until the step failed, because the undo starts the previous
/// driver, which writes to the kernel's log, too. The log begins with the boot, because the cause may precede
/// the step: a validation also fails for what earlier steps logged.
void limit_kernel_log(std::string& hint, std::uint64_t ended_us) {
    constexpr std::string_view command = "journalctl -k";
    constexpr std::uint64_t second = 1'000'000;
    if (const std::size_t at = hint.find(command); at != std::string::npos)
        hint.insert(at + command.size(), " --until @" + std::to_string(ended_us / second + 1));
}

/// Runs the apply or undo of the step at `index`, or the preflight of all steps.
core::JobResult run(const core::StepCodes& codes, const core::JobRequest& request, std::size_t index,
                    core::StepContext& context) {
    core::JobResult result;
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
    base::Json facts;
    context.warn = [&warnings](const std::string& said) { warnings.push_back(said); };
    context.note = [&notes](const std::string& said) { notes.push_back(said); };
    context.describe = [&facts](const base::Json& found) { facts.update(found); };
    const core::Step& step = request.steps[index];
    const core::StepCode& code = *codes.find(step.kind);
    try {
        result = request.phase == core::Phase::Preflight ? preflight(codes, request, context)
                 : request.phase == core::Phase::Apply   ? apply(code, step, context)
                                                         : undo(code, step, context);
    } catch (const std::exception& e) {
        result.error = Error{Errc::Failed, std::string("unexpected exception: ") + e.what(), {}};
    }
    if (request.phase == core::Phase::Preflight && facts.is_object())
        result.output = std::move(facts);
    if (!warnings.empty())
        result.output["warnings"] = warnings;
    if (!notes.empty())
        result.output["notes"] = notes;
    if (result.error)
        limit_kernel_log(result.error->hint, base::realtime_us());
    return result;
}

/// Runs the steps of a job in their order, until one fails or stdin ends. Writes the result of each.
Result<void> run_steps(const base::Root& root, const core::StepCodes& codes, std::string_view job,
                       Reporter& reporter) {
    const auto request = read_request(root, codes, job);
    if (!request)
        return reporter.result({request.error(), {}, {}});
    auto inputs = receive_inputs(request->inputs);
    if (!inputs)
        return reporter.result({std::move(inputs).error(), {}, {}});
    std::vector<UniqueFd> kept;
    core::StepContext context{
        root,
        request->settings,
        request->boot_id,
        request->staging,
        *std::move(inputs),
        [&reporter](double fraction, std::string_view said) { reporter.progress(fraction, said); }};
    context.keep = [&kept](UniqueFd fd) { kept.push_back(std::move(fd)); };
    for (std::size_t index = 0;;) {
        const core::JobResult result = run(codes, *request, index, context);
        GPUHOST_CHECK(reporter.result(result));
        index += 1 + core::skipped_by(result.output);
        if (result.error || request->phase != core::Phase::Apply || index >= request->steps.size() ||
            has_ended(STDIN_FILENO))
            return {};
        GPUHOST_CHECK(reporter.next(index));
    }
}

} // namespace

int run_job(const base::Root& root, const core::StepCodes& codes, std::string_view job) {
    // O_APPEND and one write for each line: the daemon reads whole lines only, even if this process is
    // killed.
    const auto events = root.open_file(core::job_directory(job) + "/events", O_WRONLY | O_APPEND);
    if (!events) {
        std::fprintf(stderr, "gpuhost-worker: %s\n", events.error().message.c_str());
        return 1;
    }
    Reporter reporter(events->get());
    if (auto written = run_steps(root, codes, job, reporter); !written) {
        std::fprintf(stderr, "gpuhost-worker: %s\n", written.error().message.c_str());
        return 1;
    }
    return 0;
}

int worker_main(const core::StepCodes& codes, int argc, char* argv[]) {
    std::string directory = "/";
    std::string job;
    for (const std::string_view argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
        if (base::starts_with(argument, "--root="))
            directory = argument.substr(std::strlen("--root="));
        else
            job = argument;
    }
    if (job.empty() || job.find('/') != std::string_view::npos) {
        std::fputs("usage: gpuhost-worker [--root=DIR] JOB\nStarted by gpuhostd; see gpuhostd(8).\n", stderr);
        return 2;
    }
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto root = base::Root::open(directory);
    if (!root) {
        std::fprintf(stderr, "gpuhost-worker: %s\n", root.error().message.c_str());
        return 1;
    }
    return run_job(*root, codes, job);
}

} // namespace gpuhost::host
