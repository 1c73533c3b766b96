// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/module_ops.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/handle.hpp"
#include "kmod/load/console.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

/// A message of the child through the pipe: an operation begins or has ended. It is smaller than PIPE_BUF, so
/// read(2) never returns a part of it.
struct Report {
    enum class Type : std::uint32_t { Begin, End } type = Type::Begin;
    std::uint32_t index = 0;
    std::int32_t error = 0;
    std::uint64_t t_us = 0;
};

/// Called in the child: sends a message to the parent. Returns false if the parent has closed the pipe. The
/// child must then stop, because another worker may already be repairing the modules.
bool tell(int pipe, Report::Type type, std::size_t index, int error) {
    Report report;
    report.type = type;
    report.index = static_cast<std::uint32_t>(index);
    report.error = error;
    report.t_us = base::monotonic_us();
    return ::write(pipe, &report, sizeof report) == static_cast<ssize_t>(sizeof report);
}

/// Calls `operation` again while it returns EAGAIN or EBUSY, for at most `patience`. Returns its last errno;
/// 0 for ENOENT.
template <class Operation>
int patiently(std::chrono::milliseconds patience, Operation operation) {
    const std::uint64_t until = base::monotonic_us() + static_cast<std::uint64_t>(patience.count()) * 1000;
    for (;;) {
        const int error = operation();
        if (error == ENOENT)
            return 0; // another process has unloaded the module or removed the console
        if ((error != EAGAIN && error != EBUSY) || base::monotonic_us() >= until)
            return error;
        ::usleep(20'000);
    }
}

// This time is short, because the kernel may unload the module although the console is bound.
constexpr std::chrono::milliseconds console_patience{1000};

/// Called in the child: performs one operation. Returns 0 or an errno.
int perform(ModuleLoader& loader, const ModuleOp& op, const ModuleOpOptions& options) {
    switch (op.type) {
    case ModuleOp::Type::Unload:
        return patiently(options.in_use_patience, [&] { return loader.unload(op.name); });
    case ModuleOp::Type::Load:
        return loader.load(op.path, op.parameters);
    case ModuleOp::Type::LoadByName:
        return loader.load_by_name(op.name, op.parameters);
    case ModuleOp::Type::UnbindConsole:
        return patiently(std::min(options.in_use_patience, console_patience),
                         [&] { return loader.bind_console(op.name, false); });
    case ModuleOp::Type::BindConsole:
        return loader.bind_console(op.name, true);
    }
    return EINVAL;
}

[[noreturn]] void child(ModuleLoader& loader, const std::vector<ModuleOp>& ops,
                        const ModuleOpOptions& options, int pipe) {
    ::signal(SIGPIPE, SIG_IGN);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!tell(pipe, Report::Type::Begin, i, 0))
            break;
        const int error = perform(loader, ops[i], options);
        if (!tell(pipe, Report::Type::End, i, error) || (error != 0 && !ops[i].optional))
            break;
    }
    ::_exit(0);
}

/// The parent's side: follows the child's messages.
class OpWatch {
  public:
    OpWatch(const std::vector<ModuleOp>& ops, const ModuleOpOptions& options)
        : ops_(ops), options_(options) {}

    /// Reads the child's messages. Returns when all operations have ended, the child died, or one failed or
    /// exceeded its deadline.
    ModuleOpsResult follow(int pipe) {
        while (result_.done < ops_.size() && !result_.failure) {
            Report report;
            switch (next(pipe, report)) {
            case 0:
                fail(ModuleOpFailure::Reason::Hung, 0);
                break;
            case sizeof report:
                take(report);
                break;
            default:
                fail(ModuleOpFailure::Reason::Died, 0);
            }
        }
        return std::move(result_);
    }

  private:
    /// Reads one message. Returns its size in bytes, 0 if the deadline passed first, or a negative number if
    /// the child has ended.
    ssize_t next(int pipe, Report& report) const {
        const std::uint64_t until =
            base::monotonic_us() + static_cast<std::uint64_t>(options_.deadline.count()) * 1000;
        for (;;) {
            const std::uint64_t now = base::monotonic_us();
            if (now >= until)
                return 0;
            pollfd poll{pipe, POLLIN, 0};
            const int ready = ::poll(&poll, 1, static_cast<int>((until - now) / 1000 + 1));
            if (ready <= 0)
                continue;
            const ssize_t n = ::read(pipe, &report, sizeof report);
            return n == 0 ? -1 : n;
        }
    }

    void take(const Report& report) {
        if (report.type == Report::Type::Begin) {
            if (ops_[report.index].type == ModuleOp::Type::Unload && result_.first_unload_us == 0)
                result_.first_unload_us = report.t_us;
            if (options_.on_begin)
                options_.on_begin(report.index);
        } else if (report.error == 0) {
            ++result_.done;
        } else if (ops_[report.index].optional) {
            result_.notes.push_back({ModuleOpFailure::Reason::Refused, report.index, report.error});
            ++result_.done;
        } else {
            fail(ModuleOpFailure::Reason::Refused, report.error);
        }
    }

    void fail(ModuleOpFailure::Reason reason, int error) {
        result_.failure = ModuleOpFailure{reason, result_.done, error};
    }

    const std::vector<ModuleOp>& ops_;
    const ModuleOpOptions& options_;
    ModuleOpsResult result_;
};

/// Reaps the child, which has ended or was killed. Gives up after a second: a child that is blocked in the
/// kernel does not end, and remains.
void reap(pid_t pid) {
    for (int i = 0; i < 1000; ++i) {
        if (::waitpid(pid, nullptr, WNOHANG) != 0)
            return;
        ::usleep(1'000);
    }
}

} // namespace

base::Result<ModuleOpsResult> run_module_ops(ModuleLoader& loader, const std::vector<ModuleOp>& ops,
                                             const ModuleOpOptions& options) {
    if (ops.empty())
        return ModuleOpsResult{};
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return base::fail_errno("pipe", errno);
    base::UniqueFd reader(ends[0]);
    base::UniqueFd writer(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0)
        return base::fail_errno("fork", errno);
    if (pid == 0) {
        reader.reset();
        child(loader, ops, options, writer.get());
    }
    writer.reset();
    ModuleOpsResult result = OpWatch(ops, options).follow(reader.get());
    if (result.failure && result.failure->reason == ModuleOpFailure::Reason::Hung)
        ::kill(pid, SIGKILL);
    reap(pid);
    return result;
}

std::string describe(const ModuleOp& op) {
    switch (op.type) {
    case ModuleOp::Type::Unload:
        return "unloading " + op.name;
    case ModuleOp::Type::UnbindConsole:
        return "unbinding " + describe_console(op.name) + " from the driver";
    case ModuleOp::Type::BindConsole:
        return "binding " + describe_console(op.name) + " to the driver again";
    case ModuleOp::Type::Load:
    case ModuleOp::Type::LoadByName:
        break;
    }
    return "loading " + op.name;
}

} // namespace gpuhost::kmod
