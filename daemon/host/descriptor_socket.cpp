// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/descriptor_socket.hpp"

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

constexpr std::size_t per_message = 128; // the kernel takes up to 253

/// One byte that carries descriptors. Points into itself, so it stays where it is.
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

/// Takes the descriptors out of one message. False at the end of the stream.
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

Result<UniqueFd> socket_with(std::span<const int> descriptors) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) < 0)
        return fail_errno("making a socket for a worker", errno);
    const UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    while (!descriptors.empty()) {
        const auto batch = descriptors.first(std::min(descriptors.size(), per_message));
        GPUHOST_CHECK(send(ours.get(), batch));
        descriptors = descriptors.subspan(batch.size());
    }
    return theirs;
}

std::vector<UniqueFd> take_descriptors(int socket, std::size_t expected) {
    std::vector<UniqueFd> taken;
    while (taken.size() < expected && receive(socket, taken)) {
    }
    return taken;
}

} // namespace gpuhost::host
