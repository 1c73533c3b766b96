// SPDX-License-Identifier: Apache-2.0
// Finds peers in the site's own DNS (DNS-SD, RFC 6763). Reads the PTR records of _gpuhost-peer._tcp in a
// domain, then the SRV records of their targets. The result is not trusted: a peer must still present a
// certificate for its name, from the authority that the site has for peers.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::images {

class Resolver;

class Discovery {
  public:
    using OnText = std::function<void(const std::string&)>;

    /// ask() calls `on_peer` once for each "HOST:PORT" when it is found. It calls `on_note` with messages for
    /// an administrator, such as about invalid records.
    Discovery(OnText on_peer, OnText on_note) : on_peer_(std::move(on_peer)), on_note_(std::move(on_note)) {}

    /// Searches the domains, with the DNS servers of /etc/resolv.conf. A domain may end with a dot. May block
    /// indefinitely, because libresolv has no timeout for answers by TCP. Call it in a child process that is
    /// killed after a timeout.
    void ask(const std::vector<std::string>& domains);

  private:
    void ask(Resolver& resolver, const std::string& domain);
    void ask_instance(Resolver& resolver, const std::string& instance);

    OnText on_peer_;
    OnText on_note_;
    std::set<std::string> instances_; ///< names of DNS-SD instances found so far
    std::set<std::string> peers_;     ///< URLs that were passed to on_peer_
};

} // namespace gpuhost::images
