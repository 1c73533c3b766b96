// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/worker_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace gpuhost::host {

namespace {

using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr std::size_t per_message = 128; // the kernel accepts up to 253

/// A one-byte message that carries descriptors. Not movable: it points into itself.
struct Carrier {
    Carrier() {
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    ~Carrier() = default;

    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(per_message * sizeof(int))> control{};
    msghdr message{};
};

Result<void> send(int socket, std::span<const int> descriptors) {
    Carrier carrier;
    carrier.message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&carrier.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    if (::sendmsg(socket, &carrier.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return fail_errno("passing files to a worker", errno);
    return {};
}

/// Receives the descriptors of one message. Returns false at the end of the stream.
bool receive(int socket, std::vector<UniqueFd>& descriptors) {
    Carrier carrier;
    if (::recvmsg(socket, &carrier.message, MSG_CMSG_CLOEXEC) <= 0)
        return false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&carrier.message); header;
         header = CMSG_NXTHDR(&carrier.message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            descriptors.emplace_back(fd);
        }
    }
    return true;
}

} // namespace

Result<WorkerSocket> socket_with(std::span<const int> descriptors) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) < 0)
        return fail_errno("making a socket for a worker", errno);
    WorkerSocket made{UniqueFd(pair[0]), UniqueFd(pair[1])};
    while (!descriptors.empty()) {
        const auto batch = descriptors.first(std::min(descriptors.size(), per_message));
        GPUHOST_CHECK(send(made.daemon.get(), batch));
        descriptors = descriptors.subspan(batch.size());
    }
    return made;
}

std::vector<UniqueFd> receive_descriptors(int socket, std::size_t expected) {
    std::vector<UniqueFd> taken;
    while (taken.size() < expected && receive(socket, taken)) {
    }
    return taken;
}

bool has_ended(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

} // namespace gpuhost::host
