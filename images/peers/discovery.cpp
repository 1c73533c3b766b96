// SPDX-License-Identifier: Apache-2.0
#include "images/peers/discovery.hpp"

#include "daemon/base/handle.hpp"
#include "images/peers/dns_sd.hpp"
#include "images/peers_settings.hpp"

#include <algorithm>
#include <type_traits>

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view service = "_gpuhost-peer._tcp.";
/// Limit of peers and of instances; the unit's TasksMax= allows one thread for each.
constexpr std::size_t most_peers = 256;
constexpr int patience_s = 1; ///< seconds to wait for a DNS server before the next one is asked
constexpr int tries = 2;

std::string too_many(const std::string& name) {
    return name + ": lists more than " + std::to_string(most_peers) + " peers; the others are ignored";
}

} // namespace

/// Sends queries to the DNS servers of /etc/resolv.conf.
class Resolver {
  public:
    Resolver() {
        if (res_ninit(&state_) != 0)
            return;
        open_.reset(&state_);
        state_.retrans = std::min(state_.retrans, patience_s);
        state_.retry = std::min(state_.retry, tries);
        state_.options |= RES_ROTATE; // alternates the servers: one that is offline delays only some queries
    }

    /// Returns the answer to a query, valid until the next call. Fails with NotFound if the name has no such
    /// record, and with Timeout if no server answers.
    Result<std::string_view> ask(const std::string& name, ns_type type) {
        const int length = open_ ? res_nquery(&state_, name.c_str(), ns_c_in, type, buffer_.data(),
                                              static_cast<int>(buffer_.size()))
                                 : -1;
        if (length >= 0)
            return std::string_view(reinterpret_cast<const char*>(buffer_.data()),
                                    std::min(static_cast<std::size_t>(length), buffer_.size()));
        const bool is_told = state_.res_h_errno == HOST_NOT_FOUND || state_.res_h_errno == NO_DATA;
        return is_told ? base::fail(Errc::NotFound, "no record in the DNS")
                       : base::fail(Errc::Timeout, "no usable answer from the DNS");
    }

  private:
    using State = std::remove_pointer_t<res_state>;
    static void close(State* state) { res_nclose(state); }

    State state_{};
    base::CHandle<State, close> open_;
    std::vector<unsigned char> buffer_ = std::vector<unsigned char>(NS_MAXMSG);
};

void Discovery::ask(const std::vector<std::string>& domains) {
    Resolver resolver;
    for (const std::string& domain : domains) {
        const auto end = domain.ends_with('.') ? domain.size() - 1 : domain.size();
        if (const std::string name = domain.substr(0, end); is_host_name(name))
            ask(resolver, name);
        else
            on_note_("'" + domain + "' is not a valid domain name");
    }
}

void Discovery::ask(Resolver& resolver, const std::string& domain) {
    const std::string name = std::string(service) + domain;
    const auto answer = resolver.ask(name, ns_t_ptr);
    const auto instances = answer ? parse_instances(*answer) : base::fail(answer.error());
    if (!instances)
        return on_note_(name + ": " + instances.error().message);
    if (instances->empty())
        return on_note_(name + ": lists no peers");
    for (const std::string& instance : *instances) {
        if (instances_.contains(instance))
            continue;
        if (instances_.size() == most_peers || peers_.size() == most_peers)
            return on_note_(too_many(name));
        instances_.insert(instance);
        ask_instance(resolver, instance);
    }
}

void Discovery::ask_instance(Resolver& resolver, const std::string& instance) {
    const auto answer = resolver.ask(instance, ns_t_srv);
    const auto servers = answer ? parse_servers(*answer) : base::fail(answer.error());
    if (!servers || servers->empty())
        return on_note_(instance + ": " + (servers ? "lists no valid host" : servers.error().message));
    for (const std::string& server : *servers) {
        const std::string url = peer_url(server);
        if (peers_.contains(url))
            continue;
        if (peers_.size() == most_peers)
            return on_note_(too_many(instance));
        peers_.insert(url);
        on_peer_(server);
    }
}

} // namespace gpuhost::images
