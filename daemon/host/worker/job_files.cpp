// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/job_files.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/inotify.h>

namespace gpuhost::host {

namespace {

using base::fail_errno;
using base::Result;

Result<void> give(const base::Root& root, const std::string& path, Launcher::Owner owner) {
    if (owner.uid == ::geteuid())
        return {};
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY | O_NOFOLLOW));
    if (::fchown(fd.get(), owner.uid, owner.gid) < 0)
        return fail_errno("changing the owner of '" + path + "'", errno);
    return {};
}

std::string request_file(const std::string& job) {
    return core::job_directory(job) + "/request.json";
}

/// Writes the files of a job, request.json last: no worker has been started for a job without it.
Result<void> write_job(const base::Root& root, const core::JobRequest& request, Launcher::Owner owner) {
    const std::string directory = core::job_directory(request.job);
    // A worker's user may enter the directory of its own job, but not list all jobs.
    GPUHOST_CHECK(root.make_directories(std::string(core::jobs_directory), 0711));
    GPUHOST_CHECK(root.remove_tree(directory));
    GPUHOST_CHECK(root.make_directories(directory, 0700));
    const std::string events = directory + "/events";
    GPUHOST_CHECK(root.open_file(events, O_WRONLY | O_CREAT | O_EXCL, 0600));
    const std::string file = request_file(request.job);
    GPUHOST_CHECK(root.write_atomic(file, base::dump(core::to_json(request)), 0600));
    GPUHOST_CHECK(give(root, events, owner));
    GPUHOST_CHECK(give(root, file, owner));
    return give(root, directory, owner);
}

} // namespace

Result<WorkerSocket> prepare_job(const base::Root& root, const core::JobRequest& request,
                                 Launcher::Owner owner, std::span<const int> inputs) {
    GPUHOST_CHECK(write_job(root, request, owner));
    return socket_with(inputs);
}

std::string first_job(const base::Root& root, const std::string& job) {
    // A directory that another user owns was not made by the daemon, so its content is not trusted.
    const auto st = root.lstat(core::job_directory(job));
    if (!st || !S_ISDIR(st->st_mode) || st->st_uid != ::geteuid())
        return job;
    const std::string first = root.read_line(core::job_directory(job) + "/worker").value_or(job);
    const std::string transaction = job.substr(0, job.find('-') + 1);
    return base::starts_with(first, transaction) && first.find('/') == std::string::npos ? first : job;
}

std::string newest_job(const base::Root& root, std::uint64_t transaction) {
    const std::string prefix = std::to_string(transaction) + "-";
    std::vector<std::uint64_t> newest; // start number, attempt
    std::string found;
    for (const std::string& name : root.list(core::jobs_directory).value_or(std::vector<std::string>())) {
        if (!base::starts_with(name, prefix) || !root.exists(request_file(name)))
            continue;
        std::vector<std::uint64_t> numbers;
        for (const std::string& part : base::split(name.substr(prefix.size()), '-'))
            numbers.push_back(base::parse_uint(part).value_or(0));
        if (newest < numbers) {
            newest = std::move(numbers);
            found = name;
        }
    }
    return found;
}

std::uint64_t start_of(std::string_view job) {
    const std::vector<std::string> parts = base::split(job, '-');
    return parts.size() == 3 ? base::parse_uint(parts[1]).value_or(0) : 0;
}

Result<void> JobWatch::start(Event& event, const base::Root& root, bool recovered) {
    const std::string path = core::job_directory(job_) + "/events";
    // The events file may be absent, because a recovered worker may have died before its files were complete.
    // If it is not a regular file, the worker has replaced it. Any other error is temporary, so the caller
    // must repeat the recovery.
    const auto st = root.lstat(path);
    if (recovered && (st ? !S_ISREG(st->st_mode) : st.error().code == base::Errc::NotFound))
        return {};
    // The worker's user owns the directory: do not follow a symbolic link in place of the file, and do not
    // block on a FIFO.
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    GPUHOST_TRY(events, root.open_file(path, flags));
    events_ = std::move(events);
    GPUHOST_TRY(source, event.on_inotify(events_.get(), IN_MODIFY, [this] { read(); }));
    source_ = std::move(source);
    read();
    return {};
}

void JobWatch::read() {
    std::array<char, 16384> buffer{};
    ssize_t n = 0;
    while (events_ && (n = ::read(events_.get(), buffer.data(), buffer.size())) > 0) {
        bytes_ += static_cast<std::size_t>(n);
        partial_.append(buffer.data(), static_cast<std::size_t>(n));
        if (bytes_ > core::events_limit ||
            std::min(partial_.find('\n'), partial_.size()) > core::event_limit) {
            violation("writes too much");
            return;
        }
        std::size_t begin = 0;
        for (std::size_t end = 0; events_ && (end = partial_.find('\n', begin)) != std::string::npos;
             begin = end + 1)
            handle_line(std::string_view(partial_).substr(begin, end - begin));
        partial_.erase(0, begin);
    }
    const auto newest = std::exchange(progress_, std::nullopt);
    if (newest && callbacks_.progress)
        callbacks_.progress(*newest);
}

void JobWatch::handle_line(std::string_view line) {
    if (++lines_ > most_lines)
        violation("writes too much");
    else if (!line.empty())
        handle(core::decode_event(line));
}

void JobWatch::handle(core::JobEvent event) {
    if (event.progress)
        progress_ = std::move(event.progress);
    if (event.result)
        result_ = std::move(event.result);
    if (event.next && callbacks_.step)
        begin_next(*event.next);
}

/// Handles the start of the step at `index`. Reports the result of the step before it.
void JobWatch::begin_next(std::size_t index) {
    const std::size_t ended = 1 + (result_ ? core::skipped_by(result_->output) : 0);
    const bool is_good = result_ && !result_->error && result_->problems.empty();
    if (!is_good || index != index_ + ended || (recorded_ == 0 && ended >= steps_)) {
        violation("began a step that is not next");
        return;
    }
    index_ = index;
    progress_.reset();
    core::JobResult result = *std::exchange(result_, std::nullopt);
    if (recorded_ > 0) {
        --recorded_;
        return;
    }
    steps_ -= ended;
    callbacks_.step(std::move(result));
}

/// Kills the worker. Its job ends with an error.
void JobWatch::violation(const char* what) {
    is_violated_ = true;
    source_.reset();
    events_.reset();
    result_.emplace().error = base::Error{base::Errc::BadContent, std::string("the worker ") + what,
                                          "See 'journalctl -t gpuhost-worker'."};
    if (kill_)
        kill_();
}

void JobWatch::end(base::Error died) {
    callbacks_.progress = nullptr;
    kill_ = nullptr;
    if (events_)
        read();
    JobEnd end;
    if (result_) {
        end.result = *std::move(result_);
        end.how = is_violated_ ? JobEnd::How::Violated : JobEnd::How::Reported;
    } else {
        end.how = died.code == base::Errc::Interrupted ? JobEnd::How::Died : JobEnd::How::Reported;
        end.result.error = std::move(died);
    }
    finish(std::move(end));
}

void JobWatch::not_started(base::Error why) {
    finish({{std::move(why), {}, {}}, JobEnd::How::NotStarted});
}

void JobWatch::finish(JobEnd end) {
    source_.reset();
    const auto ended = std::move(callbacks_.ended);
    ended(std::move(end)); // may destroy this
}

} // namespace gpuhost::host
