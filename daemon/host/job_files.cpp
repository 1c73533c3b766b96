// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/job_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <sys/inotify.h>
#include <sys/socket.h>

namespace gpuhost::host {

namespace {

using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr std::size_t descriptors_per_message = 128; // the kernel takes up to 253

Result<void> give(const base::Root& root, const std::string& path, Launcher::Owner owner) {
    if (owner.uid == ::geteuid())
        return {};
    GPUHOST_TRY(fd, root.open_file(path, O_RDONLY | O_NOFOLLOW));
    if (::fchown(fd.get(), owner.uid, owner.gid) < 0)
        return fail_errno("changing the owner of '" + path + "'", errno);
    return {};
}

Result<void> send(int socket, std::span<const int> descriptors) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(descriptors_per_message * sizeof(int))> control{};
    char byte = 0;
    iovec data{&byte, 1};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return fail_errno("passing files to a worker", errno);
    return {};
}

} // namespace

Result<void> write_job(const base::Root& root, const core::JobRequest& request, Launcher::Owner owner) {
    const std::string directory = core::job_directory(request.job);
    // Others may pass through to a directory that is theirs, not look around.
    GPUHOST_CHECK(root.make_directories(std::string(core::jobs_directory), 0711));
    GPUHOST_CHECK(root.remove_tree(directory));
    GPUHOST_CHECK(root.make_directories(directory, 0700));
    const std::string events = directory + "/events";
    GPUHOST_CHECK(root.open_file(events, O_WRONLY | O_CREAT | O_EXCL, 0600));
    const std::string file = directory + "/request.json";
    GPUHOST_CHECK(root.write_atomic(file, base::dump(core::to_json(request)), 0600));
    GPUHOST_CHECK(give(root, events, owner));
    GPUHOST_CHECK(give(root, file, owner));
    return give(root, directory, owner);
}

Result<UniqueFd> socket_with(std::span<const int> descriptors) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) < 0)
        return fail_errno("making a socket for a worker", errno);
    UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    while (!descriptors.empty()) {
        const auto batch = descriptors.first(std::min(descriptors.size(), descriptors_per_message));
        GPUHOST_CHECK(send(ours.get(), batch));
        descriptors = descriptors.subspan(batch.size());
    }
    return theirs;
}

Result<void> JobWatch::start(Event& event, const base::Root& root, std::string_view job, Progress progress) {
    progress_ = std::move(progress);
    GPUHOST_TRY(events, root.open_file(core::job_directory(job) + "/events", O_RDONLY));
    events_ = std::move(events);
    GPUHOST_TRY(source, event.on_inotify(events_.get(), IN_MODIFY, [this] { read(); }));
    source_ = std::move(source);
    read();
    return {};
}

void JobWatch::read() {
    constexpr std::size_t longest_line = 4U << 20;
    std::array<char, 16384> buffer;
    ssize_t n = 0;
    while ((n = ::read(events_.get(), buffer.data(), buffer.size())) > 0)
        partial_.append(buffer.data(), static_cast<std::size_t>(n));
    const auto end = partial_.rfind('\n');
    if (end == std::string::npos) {
        if (partial_.size() > longest_line)
            partial_.clear();
        return;
    }
    auto seen = core::decode_events(std::string_view(partial_).substr(0, end + 1));
    partial_.erase(0, end + 1);
    if (seen.result)
        result_ = std::move(seen.result);
    if (seen.progress && progress_)
        progress_(*seen.progress);
}

JobEnd JobWatch::finish(base::Error died) {
    source_.reset();
    progress_ = nullptr;
    if (events_)
        read();
    if (result_)
        return {*std::move(result_), false};
    JobEnd end;
    end.died = died.code == base::Errc::Interrupted;
    end.result.error = std::move(died);
    return end;
}

} // namespace gpuhost::host
