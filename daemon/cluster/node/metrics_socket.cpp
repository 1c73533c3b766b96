// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/metrics_socket.hpp"

#include "daemon/base/parse.hpp"

#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace gpuhost::cluster {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

Result<Address> parse_address(const std::string& text) {
    const auto wrong = [&text] {
        return base::fail(
            Errc::InvalidArgument, "'" + text + "' is not a valid address to listen on",
            "Write MetricsListen= in section [Cluster] of gpuhostd.conf(5) as 127.0.0.1:9835 or "
            "[::]:9835.");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos)
        return wrong();
    const auto port = base::parse_uint(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535)
        return wrong();
    const auto network_port = htons(static_cast<in_port_t>(*port));
    const std::string host = text.substr(0, colon);
    Address address;
    if (base::starts_with(host, "[") && base::ends_with(host, "]")) {
        auto& ip6 = reinterpret_cast<sockaddr_in6&>(address.storage);
        ip6.sin6_family = AF_INET6;
        ip6.sin6_port = network_port;
        address.size = sizeof ip6;
        if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ip6.sin6_addr) != 1)
            return wrong();
        return address;
    }
    auto& ip4 = reinterpret_cast<sockaddr_in&>(address.storage);
    ip4.sin_family = AF_INET;
    ip4.sin_port = network_port;
    address.size = sizeof ip4;
    if (::inet_pton(AF_INET, host.c_str(), &ip4.sin_addr) != 1)
        return wrong();
    return address;
}

} // namespace

Result<UniqueFd> metrics_socket(const std::string& text) {
    GPUHOST_TRY(address, parse_address(text));
    const int family = address.storage.ss_family;
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto set = [&socket](int level, int option, int value) {
        return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
    };
    // IPV6_V6ONLY is set to 0, because the default for [::] depends on the system. IP_FREEBIND: while the
    // host boots it may not have its address yet.
    const bool done =
        socket && set(SOL_SOCKET, SO_REUSEADDR, 1) && set(IPPROTO_IP, IP_FREEBIND, 1) &&
        (family != AF_INET6 || set(IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0;
    if (!done)
        return base::fail_errno("can't serve metrics at " + text, errno);
    return socket;
}

} // namespace gpuhost::cluster
