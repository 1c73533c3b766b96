// SPDX-License-Identifier: Apache-2.0
// Runs transactions, one at a time. It repeats: get an action from core::Transaction::next(), write it to the
// journal, run it in a worker, and feed the result to the transaction.
#pragma once

#include "daemon/core/journal.hpp"
#include "daemon/host/event.hpp"
#include "daemon/host/transaction/operation.hpp"
#include "daemon/host/transaction/sweeper.hpp"
#include "daemon/host/worker/launcher.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::host {

class Runner {
  public:
    /// Failed attempts to write a record, after which the transaction continues with its records in memory
    /// only.
    static constexpr unsigned most_journal_failures = 6;
    /// Failed attempts to start a worker for a step after the point of no return, after which the step fails.
    static constexpr unsigned most_refused_launches = 150;
    static constexpr std::size_t kept = 50; ///< ended operations that stay listed, and their journals on disk

    struct Listener {
        std::function<void(const Operation&)> added;
        std::function<void(const Operation&)> changed;
        std::function<void(const Operation&)> ended;
        /// Receives an old operation whose journal is about to be deleted.
        std::function<void(const Operation&)> removed;
    };

    /// All references must outlive the runner.
    Runner(Event& event, const base::Root& root, Launcher& launcher, const core::StepKinds& kinds,
           std::string boot_id)
        : event_(event), root_(root), launcher_(launcher), kinds_(kinds), boot_id_(std::move(boot_id)),
          sweeper_(event, root) {}

    void listen(Listener listener) { listener_ = std::move(listener); }
    /// Marks the system at `root` as offline: steps that change only a running system are not run, see
    /// pass_over(). Call before resume().
    void set_offline() { offline_ = true; }
    /// Sets the pause between two attempts to write the journal; for tests.
    void set_journal_pause(std::chrono::seconds pause) { journal_pause_ = pause; }
    /// Sets the pause between two attempts to start a worker; for tests.
    void set_launch_pause(std::chrono::seconds pause) { launch_pause_ = pause; }
    /// Sets the settings that all workers started from now on receive.
    void set_settings(base::Json settings) { settings_ = std::move(settings); }

    /// Locks and reads the journals, then resumes the operations that a previous daemon did not finish. If it
    /// fails, the caller must not start operations.
    [[nodiscard]] base::Result<void> resume();
    /// Replaces resume() for read-only access: reads the journals and resumes nothing. Unfinished operations
    /// are listed, and start() fails with Refused.
    [[nodiscard]] base::Result<void> inspect();

    /// Starts a plan, which must have steps and no problems. Returns the operation's id. Fails with Busy
    /// while another operation runs. With `check_only` the operation ends after preflight, in
    /// Outcome::Checked or Refused.
    [[nodiscard]] base::Result<std::uint64_t> start(core::Plan plan, core::Subject subject,
                                                    std::vector<base::UniqueFd> inputs,
                                                    bool check_only = false);
    [[nodiscard]] base::Result<void> cancel(std::uint64_t id, const core::Subject& subject);
    /// Runs the preflight of one step in a worker, without an operation and without a journal. May be called
    /// while an operation runs. Calls `done` once, in a later iteration of the loop, with the problems found
    /// or an error (Timeout after 20 seconds). Must not be called again before `done`. Starts at most one
    /// worker a second.
    void check(core::Step step, std::function<void(const core::JobResult&)> done);

    [[nodiscard]] const Operation* find(std::uint64_t id) const;
    [[nodiscard]] const Operation* running() const { return current_ ? &current_->operation : nullptr; }
    /// Returns true while the operation waits for disk space, or until a worker can be started. Both may last
    /// indefinitely.
    [[nodiscard]] bool waits() const {
        return current_ && (current_->stalled || !current_->waiting_for.empty());
    }
    /// Returns the ended operations and the running one, oldest first.
    [[nodiscard]] std::vector<const Operation*> operations() const;
    [[nodiscard]] const std::string& boot_id() const { return boot_id_; }
    /// Returns the operation of this boot that ended in RebootRequired, unless a later operation changed the
    /// driver.
    [[nodiscard]] std::optional<std::uint64_t> reboot_required() const;

  private:
    struct Current {
        Current(Operation o, core::Journal j) : operation(std::move(o)), journal(std::move(j)) {}
        Operation operation;
        core::Journal journal;
        std::vector<base::UniqueFd> inputs;
        unsigned starts = 0;  ///< number of Start records so far; part of the jobs' names
        bool recover = false; ///< a previous daemon may have started a worker for the phase in flight
        std::unique_ptr<Worker> worker; ///< of the phase in flight
        std::string job;                ///< job of `worker`
        Source next;                    ///< timer of the next action, see later()
        /// The reason why no worker can be started now. Attempts repeat; each new reason is logged once.
        std::string waiting_for;
        unsigned refused_launches = 0;      ///< failed starts of a worker for the phase in flight
        bool stalled = false;               ///< a record waits for space on the disk
        unsigned journal_failures = 0;      ///< failed writes since the last one that succeeded
        std::deque<core::Record> unwritten; ///< records fed to the transaction but not yet in its journal
    };

    /// Requirements of a phase for its worker.
    struct Need {
        core::Sandbox sandbox = core::Sandbox::Store;
        std::chrono::seconds deadline{60};
    };

    // Defined in runner_resume.cpp:
    [[nodiscard]] base::Result<void> lock_journal();
    [[nodiscard]] base::Result<void> load(std::uint64_t id);
    void remove_leftovers();
    void remove_files_of(std::uint64_t id);
    void resume_next();
    void await_leftover(const Event::Callback& then);
    void go_back_if_unrecorded();
    void prune();
    void remove_journal(std::uint64_t id);

    // Defined in runner_check.cpp:
    [[nodiscard]] base::Result<void> start_check(const core::Step& step,
                                                 const std::function<void(const core::JobResult&)>& done);

    // Defined in runner_journal.cpp:
    [[nodiscard]] core::Record record(core::Record::Type type) const;
    [[nodiscard]] base::Result<void> feed(const core::Record& record);
    [[nodiscard]] base::Result<void> write(const core::Record& record);
    [[nodiscard]] base::Result<void> write_journal();
    void append(core::Record record, std::function<void()> then);
    void continue_unwritten(core::Record made, const base::Error& why, const std::function<void()>& then);

    // Defined in runner_launch.cpp:
    void launch();
    void follow_step();
    void kill_if_cancelled();
    [[nodiscard]] base::Result<std::unique_ptr<Worker>> start_or_recover(const Launch& launch,
                                                                         JobCallbacks callbacks);
    void not_started(const core::Action& action, const base::Error& error);
    void wait(const std::string& why, const Event::Callback& then);
    void run_again(const core::Action& action);
    [[nodiscard]] std::string job_in_flight() const;
    [[nodiscard]] std::vector<std::size_t> steps_of(const core::Action& action) const;
    [[nodiscard]] Need need_of(const core::Action& action) const;
    [[nodiscard]] bool is_groupable(const core::Action& action) const;
    [[nodiscard]] std::size_t last_of_group(core::Action action) const;
    [[nodiscard]] Launch make_launch(const core::Action& action) const;
    [[nodiscard]] base::Result<void> prepare_staging() const;
    [[nodiscard]] bool interruptible(const core::Action& action) const;

    // Defined in runner.cpp:
    void advance();
    void run(const core::Action& action);
    [[nodiscard]] bool has_work(const core::Action& action) const;
    void pass_over(const core::Action& action);
    [[nodiscard]] bool may_pass(const base::Error& error) const;
    [[nodiscard]] bool needs_running_system(const core::Action& action) const;
    [[nodiscard]] bool changes_kernel(const core::Action& action) const;
    void later(std::chrono::seconds pause, const Event::Callback& then);
    void progress(const core::JobProgress& progress);
    void show_fraction(const core::Action& action, double fraction);
    void say_what(const core::Action& action);
    void step_ended(core::JobResult result);
    void job_ended(JobEnd end);
    [[nodiscard]] core::Record end_record(const core::Action& action, core::JobResult result);
    void phase_ended(const core::Action& action, core::JobResult result);
    void end(const core::Action& action);
    void finish();
    void say(const std::string& text);
    void warn(const std::string& text) const; ///< logged with the current operation's id

    Event& event_;
    const base::Root& root_;
    Launcher& launcher_;
    const core::StepKinds& kinds_;
    std::string boot_id_;
    base::Json settings_ = base::Json::object();
    Listener listener_;
    std::optional<Current> current_;
    /// Unfinished operations found at start, oldest first. There is more than one only if journals were moved
    /// by hand.
    std::deque<Current> unfinished_;
    std::map<std::uint64_t, Operation> ended_;
    std::set<std::uint64_t> unreadable_; ///< ids of unreadable journals
    std::uint64_t last_id_ = 0;
    base::UniqueFd lock_;
    Sweeper sweeper_;
    bool offline_ = false;
    bool is_read_only_ = false;
    std::chrono::seconds journal_pause_{5};
    std::chrono::seconds launch_pause_{2};
    std::unique_ptr<Worker> checker_;                  ///< the worker of check()
    Source check_timer_;                               ///< starts `checker_`
    std::chrono::steady_clock::time_point check_from_; ///< when the next worker of check() may start
};

} // namespace gpuhost::host
