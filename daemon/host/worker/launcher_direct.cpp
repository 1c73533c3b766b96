// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/launcher_direct.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/host/worker/job_files.hpp"

#include <csignal>
#include <cstdio>

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace gpuhost::host {

namespace {

using base::Errc;
using base::Error;
using base::fail_errno;
using base::Result;
using base::UniqueFd;

/// Returns the start time of a process: field 22 of /proc/PID/stat, see proc(5). Reads the host's /proc,
/// whatever --root= is. A reused pid has another start time.
std::string start_time(pid_t pid) {
    const auto host = base::Root::open("/");
    if (!host)
        return {};
    const auto stat = host->read_line("/proc/" + std::to_string(pid) + "/stat");
    const auto end_of_name = stat ? stat->rfind(')') : std::string::npos;
    if (end_of_name == std::string::npos)
        return {};
    const auto fields = base::split_words(std::string_view(*stat).substr(end_of_name + 1));
    constexpr std::size_t index = 22 - 3; // the state, field 3, is the first after the name
    return fields.size() > index ? fields[index] : std::string();
}

UniqueFd open_pidfd(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

class DirectWorker : public Worker {
  public:
    struct Process {
        UniqueFd pidfd;
        pid_t pid = 0;
        bool child = false;
    };
    DirectWorker(Event& event, const Launch& launch, JobCallbacks callbacks, UniqueFd socket, Process process)
        : event_(event), socket_(std::move(socket)), process_(std::move(process)),
          watch_(launch, std::move(callbacks), [this] { kill(); }) {}

    /// Watches the process. A recovered worker without a pidfd has exited already; its end is reported in the
    /// loop's next iteration.
    Result<void> attach(const base::Root& root, const Launch& launch) {
        GPUHOST_CHECK(watch_.start(event_, root, !process_.child));
        if (!process_.pidfd && process_.child)
            return base::fail(Errc::Failed, "can't watch a worker: no process descriptor");
        if (!process_.pidfd) {
            GPUHOST_TRY(soon, event_.soon([this] { end(); }));
            exit_ = std::move(soon);
            return {};
        }
        GPUHOST_TRY(exit, event_.on_io(process_.pidfd.get(), EPOLLIN, [this] { end(); }));
        GPUHOST_TRY(timer, event_.after(launch.deadline, [this] { expire(); }));
        exit_ = std::move(exit);
        timer_ = std::move(timer);
        return {};
    }

    /// Kills a child and its process group, and reaps the child; `flags` are waitpid(2)'s.
    void kill_and_reap(int flags) {
        kill();
        (void)::waitpid(process_.pid, nullptr, flags);
    }

    void kill() override {
        if (process_.child)
            (void)::kill(process_.pid, SIGKILL);
        else if (!process_.pidfd ||
                 ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0) < 0)
            return;
        // The worker leads a process group of its own, so that its compilers die with it. The kernel does not
        // reuse the group's id before the worker is reaped.
        (void)::kill(-process_.pid, SIGKILL);
    }

    void stop() override { socket_.reset(); }

    void set_deadline(std::chrono::seconds deadline) override {
        expired_ = false;
        if (auto later = event_.after(deadline, [this] { expire(); }))
            timer_ = *std::move(later);
        else
            event_.exit(EXIT_FAILURE);
    }

  private:
    /// Kills the worker after its deadline. If it still runs 10 seconds later, it hangs in the kernel, and
    /// the daemon continues without it.
    void expire() {
        constexpr std::chrono::seconds to_die{10};
        if (expired_) {
            end();
            return;
        }
        kill();
        set_deadline(to_die);
        expired_ = true;
    }

    void end() {
        exit_.reset();
        if (process_.child)
            kill_and_reap(WNOHANG);
        timer_.reset();
        watch_.end(expired_ ? Error{Errc::Timeout, "the worker was killed after its deadline", {}}
                            : Error{Errc::Interrupted,
                                    "the worker died before the end of its job",
                                    {}}); // may destroy this
    }

    Event& event_;
    UniqueFd socket_; ///< the daemon's end of the worker's stdin; a recovered worker has none
    Process process_;
    JobWatch watch_;
    bool expired_ = false;
    Source exit_;
    Source timer_;
};

/// Runs in the child between fork and exec. The daemon may die at any point. Until the pid file is complete,
/// the child must die with it, because no daemon could find the child. Afterwards the child must live on, so
/// that the next daemon recovers it.
[[noreturn]] void become_worker(const base::Root& root, const std::string& pid_file, const std::string& job,
                                const char* program, int input, pid_t daemon, DirectLauncher::Fate fate) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != daemon)
        ::_exit(1);
    (void)::setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)std::signal(SIGPIPE, SIG_DFL);
    const pid_t self = ::getpid();
    if (!root.write_atomic(pid_file, std::to_string(self) + " " + start_time(self) + "\n", 0600))
        ::_exit(1);
    if (fate == DirectLauncher::Fate::Survive)
        (void)::prctl(PR_SET_PDEATHSIG, 0);
    if (::dup2(input, STDIN_FILENO) < 0)
        ::_exit(1);
    const std::string root_option = "--root=" + root.directory();
    ::execl(program, program, root_option.c_str(), job.c_str(), nullptr);
    std::perror(program);
    ::_exit(127);
}

} // namespace

Result<std::unique_ptr<Worker>> DirectLauncher::start(const Launch& launch, std::span<const int> inputs,
                                                      JobCallbacks callbacks) {
    const std::string& job = launch.request.job;
    GPUHOST_TRY(user, owner(launch.sandbox));
    GPUHOST_TRY(socket, prepare_job(root_, launch.request, user, inputs));
    const std::string pid_file = core::job_directory(job) + "/pid";
    const pid_t daemon = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0)
        return fail_errno("starting a worker", errno);
    if (pid == 0)
        become_worker(root_, pid_file, job, program_.c_str(), socket.worker.get(), daemon, fate_);
    auto worker =
        std::make_unique<DirectWorker>(event_, launch, std::move(callbacks), std::move(socket.daemon),
                                       DirectWorker::Process{open_pidfd(pid), pid, true});
    if (auto watched = worker->attach(root_, launch); !watched) {
        worker->kill_and_reap(0);
        return base::fail(std::move(watched).error());
    }
    return worker;
}

Result<std::unique_ptr<Worker>> DirectLauncher::recover(const Launch& launch, JobCallbacks callbacks) {
    UniqueFd pidfd;
    pid_t pid = 0;
    const auto text = root_.read_line(core::job_directory(first_job(root_, launch.request.job)) + "/pid");
    const auto words = text ? base::split_words(*text) : std::vector<std::string>();
    if (words.size() == 2) {
        pid = static_cast<pid_t>(base::parse_uint(words[0]).value_or(0));
        // Opens the pidfd before it reads the start time: if the pid was reused before that, the start time
        // differs.
        pidfd = open_pidfd(pid);
        if (start_time(pid) != words[1])
            pidfd.reset();
    }
    auto worker = std::make_unique<DirectWorker>(event_, launch, std::move(callbacks), UniqueFd(),
                                                 DirectWorker::Process{std::move(pidfd), pid, false});
    GPUHOST_CHECK(worker->attach(root_, launch));
    return worker;
}

Result<Launcher::Owner> DirectLauncher::owner(core::Sandbox) const {
    return Owner{::geteuid(), ::getegid()};
}

} // namespace gpuhost::host
