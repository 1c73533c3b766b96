// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/build.hpp"

#include "kmod/build/kernel_build.hpp"
#include "kmod/build/log.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/module_set.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>

#include <unistd.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto make_deadline = std::chrono::hours(2);
/// The builds end this long before the deadline of the step, so that there is time to report which failed.
constexpr auto end_before = std::chrono::minutes(1);
constexpr long most_jobs = 64; // a job is several processes; the worker's unit may have at most 512

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(requests, build_requests(args));
    GPUHOST_TRY(system, base::Root::open("/"));
    const std::string running = kernel_release(context.root).value_or(std::string());
    std::vector<Problem> problems;
    for (const BuildRequest& request : requests) {
        auto lacking = build_problems(context.root, request.kernel, system);
        add_way_without_build(lacking, request.version, request.kernel == running);
        std::move(lacking.begin(), lacking.end(), std::back_inserter(problems));
    }
    if (const std::string& package = requests.front().package; !context.root.stat(package))
        problems.push_back({Errc::NotFound, package + ": not found", "Import the package again."});
    GPUHOST_TRY(free, free_space(context.root));
    if (free < build_space)
        problems.push_back({Errc::NoSpace,
                            "a build needs up to " + std::to_string(build_space >> 20U) + " MiB, but " +
                                std::to_string(free >> 20U) + " MiB are free in " +
                                std::string(store_directory),
                            "Free some space, for example with 'gpuhostctl driver remove'."});
    return problems;
}

/// Runs the builds for several kernels. Each thread runs one build after the other, and mostly waits for
/// make.
class Builds {
  public:
    Builds(StepContext& context, const base::Root& staging, const std::vector<BuildRequest>& requests)
        : context_(context), staging_(staging), requests_(requests), fractions_(requests.size()),
          logs_(requests.size()) {}

    Result<Json> run() {
        GPUHOST_TRY(free, free_space(context_.root));
        const long jobs = std::clamp(::sysconf(_SC_NPROCESSORS_ONLN), 1L, most_jobs);
        const auto at_once = static_cast<unsigned>(std::clamp<std::uint64_t>(
            free / build_space, 1,
            std::min<std::uint64_t>(static_cast<std::uint64_t>(jobs), requests_.size())));
        GPUHOST_TRY(server, JobServer::create(static_cast<unsigned>(jobs), at_once));
        std::vector<std::future<void>> threads;
        for (unsigned i = 0; i < at_once; ++i)
            threads.push_back(std::async(std::launch::async, [&] { build_some(server); }));
        for (std::future<void>& thread : threads)
            thread.get();
        return result();
    }

  private:
    void build_some(const JobServer& server) {
        const BuildPlace place{context_.root, staging_, server, staging_modules_};
        for (std::size_t i = next_++; i < requests_.size(); i = next_++)
            logs_[i] = build_for_kernel(
                place, requests_[i], time_for_one(),
                [this, i](double fraction, std::string_view text) { tell(i, fraction, text); });
        server.give_up_one();
    }

    [[nodiscard]] std::chrono::milliseconds time_for_one() const {
        using std::chrono::milliseconds;
        const auto left = std::chrono::duration_cast<milliseconds>(end_ - Clock::now());
        return std::clamp(left, milliseconds(0), milliseconds(make_deadline));
    }

    void tell(std::size_t index, double fraction, std::string_view text) {
        const std::lock_guard lock(mutex_);
        fractions_[index] = fraction;
        const double sum = std::accumulate(fractions_.begin(), fractions_.end(), 0.0);
        const bool is_one = requests_.size() == 1;
        context_.progress(sum / static_cast<double>(fractions_.size()),
                          (is_one ? "" : requests_[index].kernel + ": ") + std::string(text));
    }

    /// Returns the paths of the logs. If builds failed, the error has the messages of all failed builds, and
    /// the code and hint of the first one.
    [[nodiscard]] Result<Json> result() const {
        std::optional<base::Error> error;
        Json logs = Json::array();
        for (const Result<std::string>& log : logs_) {
            if (log)
                logs.push_back(*log);
            else if (error)
                error->message += "; " + log.error().message;
            else
                error = log.error();
        }
        if (error)
            return base::fail(*std::move(error));
        return Json{{"logs", std::move(logs)}};
    }

    StepContext& context_;
    const base::Root& staging_;
    const std::vector<BuildRequest>& requests_;
    const Clock::time_point end_ = Clock::now() + build_deadline - end_before;
    std::atomic<std::size_t> next_ = 0;
    std::mutex staging_modules_;
    std::mutex mutex_;
    std::vector<double> fractions_; ///< guarded by mutex_
    std::vector<Result<std::string>> logs_;
};

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(requests, build_requests(args));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(context.staging)));
    return Builds(context, staging, requests).run();
}

} // namespace

core::StepCode build_compile_code() {
    // Needs no verify: the step store.publish checks what was built. Needs no undo: the staging directory is
    // deleted with its transaction.
    return {.name = "build.compile", .preflight = preflight, .apply = apply};
}

} // namespace gpuhost::kmod
