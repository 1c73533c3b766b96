// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/follow.hpp"

#include "daemon/base/interrupt.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/cli/progress.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <algorithm>
#include <chrono>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;
using namespace std::chrono_literals;

namespace {

constexpr auto redraw_interval = 100ms;
constexpr auto daemon_return_limit = 90s; ///< systemd restarts gpuhostd within seconds, or never

bool has_ended(const Json& operation) {
    const std::string state = base::string_or(operation, "state", "");
    return state != "running" && state != "undoing";
}

/// Follows one operation. Queries it again only after gpuhostd has signalled a change.
class Follower {
  public:
    Follower(Session& session, client::Client& client, std::uint64_t id, const Deadline& deadline)
        : session_(session), client_(client), id_(id), deadline_(deadline),
          progress_(session.err(), mode(session)) {}

    [[nodiscard]] Result<Json> run() {
        for (;;) {
            GPUHOST_TRY(operation, look());
            if (has_ended(operation)) {
                progress_.finish(operation);
                return std::move(operation);
            }
            progress_.update(operation);
            GPUHOST_CHECK(wait_for_change());
        }
    }

  private:
    static Progress::Mode mode(const Session& session) {
        if (session.err().quiet)
            return Progress::Mode::Silent;
        if (session.err().terminal)
            return Progress::Mode::Bar;
        return session.wants_json() ? Progress::Mode::Silent : Progress::Mode::Lines;
    }

    /// Queries the operation. If gpuhostd was killed, the query fails, and the bus reports the end of
    /// gpuhostd a moment later. Then waits until gpuhostd has restarted, and queries again.
    [[nodiscard]] Result<Json> look() {
        auto operation = client_.describe_operation(id_);
        if (operation || operation.error().code == Errc::NotFound)
            return operation;
        for (;;) {
            GPUHOST_TRY(event, next_event(1s));
            if (event == client::Client::Event::Timeout)
                return operation;
            if (event == client::Client::Event::Gone)
                GPUHOST_CHECK(wait_for_daemon());
            if (event != client::Client::Event::Changed && event != client::Client::Event::Ended)
                return look();
        }
    }

    /// Waits for a change. Combines the changes of one redraw_interval, but reports the end of the operation
    /// at once.
    [[nodiscard]] Result<void> wait_for_change() {
        const auto next_poll = std::chrono::steady_clock::now() + redraw_interval;
        GPUHOST_TRY(event, next_event(std::nullopt));
        for (auto now = std::chrono::steady_clock::now();
             event != client::Client::Event::Ended && now < next_poll;
             now = std::chrono::steady_clock::now()) {
            if (event == client::Client::Event::Gone)
                return wait_for_daemon();
            GPUHOST_TRY(more, next_event(std::chrono::ceil<std::chrono::milliseconds>(next_poll - now)));
            event = more;
        }
        return event == client::Client::Event::Gone ? wait_for_daemon() : Result<void>();
    }

    [[nodiscard]] Result<void> wait_for_daemon() {
        progress_.clear();
        session_.note("gpuhostd stopped; waiting for its restart, after which the operation continues\n");
        const auto deadline = std::chrono::steady_clock::now() + daemon_return_limit;
        for (;;) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            GPUHOST_TRY(event, next_event(std::max(left, 0ms)));
            if (event == client::Client::Event::Came)
                return {};
            if (event == client::Client::Event::Timeout)
                return base::fail(
                    Errc::Interrupted,
                    "gpuhostd stopped during operation " + std::to_string(id_) + " and did not restart",
                    "Start it: systemctl start gpuhostd. Then wait: gpuhostctl operation wait " +
                        std::to_string(id_) + ".");
        }
    }

    [[nodiscard]] Result<client::Client::Event> next_event(std::optional<std::chrono::milliseconds> timeout) {
        const auto left = time_left(deadline_);
        if (left && left->count() == 0) {
            progress_.clear();
            const std::string id = std::to_string(id_);
            return base::fail(Errc::Timeout,
                              "operation " + id +
                                  " is not finished: the wait timed out, the operation continues",
                              "Wait again: gpuhostctl operation wait " + id + ".");
        }
        if (left)
            timeout = std::min(timeout.value_or(*left), *left);
        GPUHOST_TRY(event, client_.wait(timeout, interrupt_.fd()));
        if (event == client::Client::Event::Interrupted)
            leave();
        return event;
    }

    [[noreturn]] void leave() {
        progress_.clear();
        const std::string id = std::to_string(id_);
        session_.note("\nOperation " + id + " continues without this command.\n");
        if (!session_.uses_mounted())
            session_.note("  wait for it:   gpuhostctl operation wait " + id +
                          "\n  cancel it:     gpuhostctl operation cancel " + id + "\n" +
                          (session_.continuation().empty()
                               ? ""
                               : "  then continue: " + printable(session_.continuation()) + "\n"));
        interrupt_.die();
    }

    Session& session_;
    client::Client& client_;
    std::uint64_t id_;
    Deadline deadline_;
    base::Interrupt interrupt_;
    Progress progress_;
};

/// Returns a property; empty if gpuhostd does not answer, because the outcome is printed in any case.
std::string property_of(Session& session, const client::Call& property) {
    const auto client = session.client();
    return client ? (*client)->read_text(property).value_or("") : "";
}

Result<std::uint64_t> start(const Session& session, client::Client& client, const client::Call& call,
                            const client::Options& options) {
    const PasswordAgent agent(session);
    return client.start(call, options);
}

/// Returns true if `problems` of the plan are the reason why a start failed with `error`. Such an error has
/// the code of the only problem, or is Refused for several problems. Other errors, such as a missing
/// authorization, occur before problems are checked.
bool is_of_problems(const base::Error& error, const Json& problems) {
    const int status =
        problems.size() > 1 ? base::info(Errc::Refused).exit_code : problems_exit_status(problems);
    return !problems.empty() && base::info(error.code).exit_code == status;
}

/// Returns the plan if its problems are the reason for `error`. Otherwise, and for a single problem that is
/// printed as text, fails with `error`.
Result<Ran> not_started(const Session& session, client::Client& client, const client::Request& request,
                        base::Error error) {
    Json plan = client.ask(request.plan).value_or(Json());
    const Json& problems = list_of(plan, "problems");
    if (!is_of_problems(error, problems) || (problems.size() == 1 && !session.wants_json()))
        return base::fail(std::move(error));
    return Ran{Ran::Kind::Refused, std::move(plan)};
}

} // namespace

int print_plan(const Session& session, const Json& plan) {
    if (session.wants_json())
        session.print_json(plan);
    else
        session.page(render_plan(session.out(), plan));
    return plan_exit_status(plan);
}

void print_operation_id(const Session& session, std::uint64_t id) {
    if (session.wants_json())
        session.print_json(Json{{"id", id}});
    else
        session.print(std::to_string(id) + "\n");
}

Result<Json> follow_operation(Session& session, std::uint64_t id, const Deadline& deadline) {
    GPUHOST_TRY(client, session.client());
    return Follower(session, *client, id, deadline).run();
}

Result<void> wait_until_idle(Session& session) {
    GPUHOST_TRY(client, session.client());
    for (;;) {
        GPUHOST_TRY(host, client->describe_host());
        const std::uint64_t id = number_of(host, "operation");
        if (id == 0)
            return {};
        session.note("Waiting for operation " + std::to_string(id) + ", which is running.\n");
        GPUHOST_CHECK(follow_operation(session, id));
    }
}

int report_operation(Session& session, const Json& operation, bool next) {
    const int status = operation_exit_status(operation);
    if (session.wants_json())
        session.print_json(operation);
    else if (status == 0)
        session.print(render_success(session.out(), operation,
                                     property_of(session, client::manager_call("KernelRelease")), next));
    else
        session.warn(render_failure(session.err(), operation,
                                    property_of(session, client::driver_call("LoadedVersion"))));
    return status;
}

int Ran::exit_status() const {
    return kind == Kind::Operation ? operation_exit_status(document) : plan_exit_status(document);
}

Result<Ran> check_request(Session& session, const client::Request& request, const DryRun& how) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    GPUHOST_TRY(plan, client->ask(request.plan));
    if (!how.upgrade.empty())
        plan["upgrade"] = how.upgrade;
    if (session.uses_mounted() || list_of(plan, "steps").empty() || !list_of(plan, "problems").empty())
        // A preflight is an operation, which would be recorded in the mounted system.
        return Ran{Ran::Kind::DryRun, std::move(plan)};
    client::Options options = request.options;
    options["dry-run"] = true;
    const auto id = start(session, *client, request.start, options);
    if (!id && how.may_be_unchecked &&
        (id.error().code == Errc::AccessDenied || id.error().code == Errc::Busy)) {
        session.note("Nothing was checked on this host: " + id.error().message + "\n");
        return Ran{Ran::Kind::DryRun, std::move(plan)};
    }
    if (!id)
        return base::fail(id.error());
    if (*id == 0)
        return Ran{Ran::Kind::DryRun, std::move(plan)}; // meanwhile there is nothing to do
    GPUHOST_TRY(operation, follow_operation(session, *id));
    const Json& problems = list_of(operation, "problems");
    if (problems.empty() && text_of(operation, "state") != "checked")
        return Ran{Ran::Kind::Operation, std::move(operation)};
    plan["problems"] = problems;
    plan["warnings"] = warnings_of(operation);
    plan["notes"] = notes_of(operation);
    plan["checked"] = true;
    plan["outputs"] = list_of(operation, "outputs");
    constexpr std::string_view check = "check: ";
    if (const std::string title = text_of(operation, "title"); base::starts_with(title, check))
        plan["title"] = title.substr(check.size()); // it may name what the checks have found
    return Ran{Ran::Kind::DryRun, std::move(plan)};
}

Result<Ran> run_request(Session& session, const client::Request& request, const Deadline& deadline) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    const auto id = start(session, *client, request.start, request.options);
    if (!id)
        return not_started(session, *client, request, id.error());
    if (*id == 0)
        return Ran{Ran::Kind::Nothing, client->ask(request.plan).value_or(Json::object())};
    GPUHOST_TRY(operation, follow_operation(session, *id, deadline));
    return Ran{Ran::Kind::Operation, std::move(operation)};
}

int report(Session& session, const Ran& ran) {
    if (ran.kind == Ran::Kind::Operation)
        return report_operation(session, ran.document);
    if (ran.kind == Ran::Kind::Nothing && session.wants_json())
        print_operation_id(session, 0);
    else if (ran.kind == Ran::Kind::Refused && !session.wants_json())
        session.warn(render_refusal(session.err(), ran.document));
    else
        return print_plan(session, ran.document);
    return ran.exit_status();
}

Result<int> finish_operation(Session& session, std::uint64_t id, const Deadline& deadline) {
    GPUHOST_TRY(operation, follow_operation(session, id, deadline));
    return report_operation(session, operation);
}

Result<int> preview_operation(Session& session, const client::Request& request, const DryRun& how) {
    GPUHOST_TRY(ran, check_request(session, request, how));
    return report(session, ran);
}

Result<int> run_operation(Session& session, const client::Request& request, const Deadline& deadline) {
    if (session.arguments().has(option::dry_run))
        return preview_operation(session, request);
    if (!session.arguments().has(option::no_wait)) {
        GPUHOST_TRY(ran, run_request(session, request, deadline));
        return report(session, ran);
    }
    GPUHOST_TRY(client, session.client());
    const auto id = start(session, *client, request.start, request.options);
    if (!id) {
        GPUHOST_TRY(refused, not_started(session, *client, request, id.error()));
        return report(session, refused);
    }
    print_operation_id(session, *id);
    return *id != 0 ? 0 : plan_exit_status(client->ask(request.plan).value_or(Json::object()));
}

} // namespace gpuhost::ctl
