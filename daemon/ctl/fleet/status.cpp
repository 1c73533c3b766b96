// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/interrupt.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/live_screen.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/fleet/source.hpp"
#include "daemon/ctl/fleet/verbs.hpp"
#include "daemon/ctl/fleet/view.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Json;
using base::Result;
using namespace std::chrono_literals;

namespace {

constexpr Option all_option{"all", "", "show each host on a line of its own, also finished ones"};
constexpr Option watch_option{"watch", "",    "show the fleet until interrupted, with each change",
                              false,   false, 'w'};
constexpr Option kubeconfig_option{"kubeconfig", "FILE",
                                   "use this kubeconfig instead of this host's credentials"};
constexpr std::array options{all_option, watch_option, kubeconfig_option, root_option, option::json};

constexpr auto patience = 60s; ///< longer than the timeouts of gpuhost-cluster --fleet
constexpr auto redraw = 1s;    ///< interval in which the column AGE is updated
/// Least time between two starts of gpuhost-cluster by --watch.
constexpr auto between_starts = 10s;

/// Adds a hint to NotFound: only root can read this host's credentials.
base::Error explained(const base::Error& error) {
    return error.code == base::Errc::NotFound && ::geteuid() != 0
               ? error.with_hint("Run the command as root: only root can read this host's credentials.")
               : error;
}

class FleetShow {
  public:
    using Start = std::function<Result<FleetSource>()>;

    FleetShow(Session& session, Start start)
        : session_(session), start_(std::move(start)), all_(session.arguments().has(all_option)) {}

    Result<int> once() {
        GPUHOST_CHECK(start());
        GPUHOST_TRY(event, wait(patience));
        if (event == FleetSource::Event::Timeout)
            return base::fail(base::Errc::Timeout, "gpuhost-cluster does not answer",
                              "Show the state of this host: gpuhostctl cluster status.");
        if (source_->document().contains("error"))
            return base::fail(base::error_from_json(source_->document()["error"]));
        document_ = source_->document();
        interrupt_.reset(); // a signal ends this program while the pager runs
        if (session_.wants_json())
            session_.print_json(document_);
        else
            session_.page(text(0));
        return 0;
    }

    Result<int> watch() {
        GPUHOST_CHECK(start());
        for (;;) {
            const auto event = wait(redraw);
            if (!event && !is_denied_)
                return base::fail(event.error());
            if (!event)
                lose(event.error());
            else if (*event == FleetSource::Event::Document)
                take();
            if (is_denied_ && std::chrono::steady_clock::now() >= started_ + between_starts)
                if (const auto again = start(); !again)
                    lose(again.error());
            if (session_.out().terminal && !session_.wants_json() && !document_.is_null())
                paint();
        }
    }

  private:
    /// Starts gpuhost-cluster, in place of the one that runs.
    Result<void> start() {
        started_ = std::chrono::steady_clock::now();
        GPUHOST_TRY(source, start_());
        source_.emplace(std::move(source));
        return {};
    }

    /// Shows why the document is out of date, until the next gpuhost-cluster has access.
    void lose(const base::Error& error) {
        source_.reset();
        show_problem(error.message);
    }

    Result<FleetSource::Event> wait(std::chrono::milliseconds most) {
        auto event = source_ ? source_->wait(most, interrupt_->fd()) : wait_for_interrupt(most);
        if (event && *event == FleetSource::Event::Interrupted) {
            screen_.reset();
            source_.reset();
            interrupt_->die();
        }
        return event;
    }

    [[nodiscard]] Result<FleetSource::Event> wait_for_interrupt(std::chrono::milliseconds most) const {
        pollfd polled{interrupt_->fd(), POLLIN, 0};
        return ::poll(&polled, 1, static_cast<int>(most.count())) > 0 ? FleetSource::Event::Interrupted
                                                                      : FleetSource::Event::Timeout;
    }

    [[nodiscard]] std::string text(std::size_t rows) const {
        FleetView view;
        view.all = all_;
        view.rows = rows;
        view.now = cluster::unix_now();
        view.problem = problem_;
        // Read the width again: the window may have been resized.
        Screen screen = session_.out();
        screen.columns = screen_of(STDOUT_FILENO).columns;
        return render_fleet(screen, document_, view);
    }

    void paint() {
        if (!screen_)
            screen_.emplace();
        const std::size_t rows = screen_of(STDOUT_FILENO).rows;
        screen_->paint(text(rows - 1), rows);
    }

    void take() {
        const Json& news = source_->document();
        const Json& error = base::member(news, "error");
        if (error.is_object() && document_.is_null())
            return; // gpuhost-cluster exits after this error
        // gpuhost-cluster runs without root's rights, so it may be unable to read renewed credentials.
        is_denied_ = base::error_from_json(error).code == base::Errc::AccessDenied;
        if (session_.wants_json())
            session_.print(base::dump(news) + "\n"); // one line a document
        if (error.is_object())
            return show_problem(text_of(error, "message"));
        problem_.clear();
        const Json before = std::exchange(document_, news);
        if (!session_.wants_json() && !session_.out().terminal)
            session_.print(before.is_null() ? text(0) : fleet_changes(before, document_));
        (void)std::fflush(stdout);
    }

    void show_problem(const std::string& problem) {
        const std::string before = std::exchange(problem_, printable(problem));
        if (problem_ != before && !session_.wants_json() && !session_.out().terminal)
            session_.print("problem: " + problem_ + "\n");
        (void)std::fflush(stdout);
    }

    Session& session_;
    Start start_;
    std::optional<FleetSource> source_; ///< empty: gpuhost-cluster has ended
    std::chrono::steady_clock::time_point started_;
    bool is_denied_ = false; ///< the API server refuses the credentials in use
    bool all_;
    Json document_;
    std::string problem_; ///< why `document_` may be out of date; empty: it is current
    std::optional<base::Interrupt> interrupt_{std::in_place};
    std::optional<LiveScreen> screen_;
};

Result<int> run(Session& session) {
    const bool watch = session.arguments().has(watch_option);
    const auto given = session.arguments().value(kubeconfig_option);
    if (given && session.arguments().has(root_option))
        return base::fail(base::Errc::InvalidArgument, "--root cannot be used with --kubeconfig",
                          "Name the file below the directory.");
    GPUHOST_TRY(root, given_root(session.arguments()));
    const std::string kubeconfig = given ? std::filesystem::absolute(*given).string() : std::string();
    FleetShow show(session, [&] { return FleetSource::start(root.directory(), kubeconfig, watch); });
    auto shown = watch ? show.watch() : show.once();
    if (!shown && !given)
        return base::fail(explained(shown.error()));
    return shown;
}

constexpr std::array examples{Example{"fleet status", "show how far the upgrade is, and why hosts wait"},
                              Example{"fleet status --all --watch", "follow every host until Ctrl-C"},
                              Example{"fleet status --kubeconfig=admin.conf", "show it on another machine"}};

} // namespace

const Verb fleet_status_verb{
    "fleet status",
    "",
    "show the driver upgrade of all hosts of the cluster",
    "Shows the driver upgrade of all hosts of the cluster, and the reason why hosts wait: for each pool the "
    "number of finished hosts, then the unfinished hosts, failed ones first. Asks the API server with this "
    "host's credentials, on any host that has joined, or anywhere with --kubeconfig. Needs no daemon. "
    "'kubectl gpuhost' does the same with kubectl's kubeconfig and context.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
