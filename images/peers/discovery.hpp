// SPDX-License-Identifier: Apache-2.0
// Peers by the site's own DNS: PTR records of _gpuhost-peer._tcp in a domain, and the SRV records that these lead to. What it
// says is where to knock, no more: who opens shows a certificate of the site with that very name.
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

    /// `on_peer` gets each "HOST:PORT" as it is found, `on_note` what was of no use.
    Discovery(OnText on_peer, OnText on_note) : on_peer_(std::move(on_peer)), on_note_(std::move(on_note)) {}

    /// Asks the servers of /etc/resolv.conf. A domain may end with a dot. It has no end of its own: libresolv waits
    /// for an answer by TCP as long as a server likes. So this belongs into a process that ends itself.
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
