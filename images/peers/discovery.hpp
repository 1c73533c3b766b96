// SPDX-License-Identifier: Apache-2.0
// Finds peers in the site's own DNS: PTR records of _gpuhost-peer._tcp in a domain, and the SRV records of
// their targets. The result is only a list of addresses. A peer must still present a certificate of the site
// for that name.
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

    /// `on_peer` receives each "HOST:PORT" as it is found, `on_note` messages about useless records.
    Discovery(OnText on_peer, OnText on_note) : on_peer_(std::move(on_peer)), on_note_(std::move(on_note)) {}

    /// Asks the servers of /etc/resolv.conf. A domain may end with a dot. May block indefinitely, because
    /// libresolv has no timeout for answers by TCP. Call it in a process that limits its own time.
    void ask(const std::vector<std::string>& domains);

  private:
    void ask(Resolver& resolver, const std::string& domain);
    void ask_instance(Resolver& resolver, const std::string& instance);

    OnText on_peer_;
    OnText on_note_;
    std::set<std::string> instances_;
    std::set<std::string> peers_; ///< their addresses
};

} // namespace gpuhost::images
