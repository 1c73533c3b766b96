// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/fleet.hpp"

#include "daemon/base/log.hpp"
#include "daemon/cluster/kube/kube_time.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gpuhost {
namespace {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;
using cluster::now;
using cluster::Time;

constexpr Time between_documents{1'000};
constexpr Time between_polls{5'000};  ///< between two checks of the pipe to the reader, and of the clock
constexpr Time between_stats{30'000}; ///< between two checks of the files of the credentials and the policy
/// How long an error may last. After this time the program fails or, if it has printed a document, prints the
/// error.
constexpr Time patience{3'000};
/// How long the server may send nothing before the first document. After this time the program fails.
constexpr Time silence{20'000};

class FleetProgram {
  public:
    FleetProgram(const base::Root* root, cluster::Api& api, bool follow)
        : api_(api), follow_(follow),
          watch_(api, root, [](const std::string& line) { base::log::info(line); }) {}

    Result<void> run() {
        while (has_reader()) {
            watch_.turn();
            GPUHOST_CHECK(report());
            if (!follow_ && has_shown_)
                break;
            refresh();
            api_.wait(std::clamp(next() - now(), Time(0), between_polls));
        }
        return {};
    }

  private:
    [[nodiscard]] Time next() const {
        const Time due = watch_.due().value_or(now() + between_polls);
        return has_news() ? std::min(due, std::max(show_at_, now())) : due;
    }

    [[nodiscard]] bool has_news() const {
        return watch_.is_known() && watch_.trouble().message.empty() &&
               (watch_.changes() != seen_ || error_printed_ || silent() != silent_printed_);
    }

    [[nodiscard]] bool silent() const { return cluster::is_silent(watch_.leader(), cluster::unix_now()); }

    Result<void> report() {
        const Error& trouble = watch_.trouble();
        if (trouble.message.empty())
            troubled_since_.reset();
        else if (!troubled_since_)
            troubled_since_ = now();
        if (!has_shown_)
            GPUHOST_CHECK(give_up(trouble));
        if (has_shown_ && troubled_since_ && now() >= *troubled_since_ + patience && !error_printed_) {
            error_printed_ = true;
            print({{"error", base::to_json(trouble)}});
        }
        if (has_news() && now() >= show_at_)
            show();
        return {};
    }

    /// Fails if the first document can no longer be expected, because of the error `trouble` or of the time
    /// that has passed. Call it only before the first document is printed.
    [[nodiscard]] Result<void> give_up(const Error& trouble) const {
        const bool lasts = troubled_since_ && now() >= *troubled_since_ + patience;
        if (lasts || (troubled_since_ && trouble.code == Errc::AccessDenied))
            return base::fail(trouble);
        if (now() >= std::max(began_, watch_.heard()) + silence)
            return base::fail(Errc::Timeout, api_.config().server + " does not answer",
                              "Check the connection to " + api_.config().server + ".");
        return {};
    }

    void show() {
        seen_ = watch_.changes();
        silent_printed_ = silent();
        Json document = watch_.document(cluster::unix_now());
        document["server"] = api_.config().server;
        std::string text = base::dump(document);
        if (!std::exchange(error_printed_, false) && text == shown_)
            return;
        shown_ = std::move(text);
        write(shown_);
        has_shown_ = true;
        show_at_ = now() + between_documents;
    }

    static void print(const Json& document) { write(base::dump(document)); }

    static void write(const std::string& line) {
        std::fputs((line + "\n").c_str(), stdout);
        std::fflush(stdout);
    }

    /// Returns true if the reader's end of the pipe is open.
    static bool has_reader() {
        pollfd out{STDOUT_FILENO, 0, 0};
        return std::ferror(stdout) == 0 && (::poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0);
    }

    void refresh() {
        if (now() < refresh_at_)
            return;
        refresh_at_ = now() + between_stats;
        watch_.refresh();
        if (const auto refreshed = api_.refresh(); refreshed && *refreshed)
            watch_.retry();
    }

    cluster::Api& api_;
    bool follow_;
    cluster::FleetWatch watch_;
    std::uint64_t seen_ = 0; ///< watch_.changes() when the last document was printed
    Time began_ = now();
    Time refresh_at_ = began_ + between_stats;
    Time show_at_{0};
    std::optional<Time> troubled_since_;
    bool error_printed_ = false;
    bool silent_printed_ = false;
    bool has_shown_ = false;
    std::string shown_;
};

} // namespace

Result<void> show_fleet(const base::Root* root, cluster::Api& api, bool follow) {
    return FleetProgram(root, api, follow).run();
}

} // namespace gpuhost
