// SPDX-License-Identifier: Apache-2.0
#include "images/peers/dns_sd.hpp"

#include "images/peers_settings.hpp"

#include <array>
#include <optional>

#include <arpa/nameser.h>
#include <resolv.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

/// Size in bytes of priority, weight and port, which precede the name in an SRV record.
constexpr std::size_t srv_numbers = 6;
constexpr std::size_t srv_port = 4; ///< offset of the port in an SRV record

/// Returns the records of one type in the answer section. They point into `answer`. `message` is the parsed
/// answer.
Result<std::vector<ns_rr>> records_of(ns_msg& message, std::string_view answer, ns_type type) {
    const auto nonsense = [] { return base::fail(Errc::BadContent, "malformed answer"); };
    if (answer.size() > NS_MAXMSG)
        return nonsense();
    const auto* bytes = reinterpret_cast<const unsigned char*>(answer.data());
    if (ns_initparse(bytes, static_cast<int>(answer.size()), &message) < 0)
        return nonsense();
    std::vector<ns_rr> records;
    for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
        ns_rr record{};
        if (ns_parserr(&message, ns_s_an, i, &record) < 0)
            return nonsense();
        if (ns_rr_type(record) == type && ns_rr_class(record) == ns_c_in)
            records.push_back(record);
    }
    return records;
}

/// Returns the name that begins at byte `at` of a record and ends with the record; "" for the DNS root.
/// Returns nothing if there is no such name.
std::optional<std::string> name_in(const ns_msg& message, const ns_rr& record, std::size_t at) {
    if (ns_rr_rdlen(record) <= at)
        return std::nullopt;
    std::array<char, NS_MAXDNAME> name{};
    const int length = dn_expand(ns_msg_base(message), ns_msg_end(message), ns_rr_rdata(record) + at,
                                 name.data(), static_cast<int>(name.size()));
    if (length < 0 || at + static_cast<std::size_t>(length) != ns_rr_rdlen(record))
        return std::nullopt;
    return name.data();
}

} // namespace

Result<std::vector<std::string>> parse_instances(std::string_view answer) {
    ns_msg message{};
    GPUHOST_TRY(records, records_of(message, answer, ns_t_ptr));
    std::vector<std::string> instances;
    for (const ns_rr& record : records)
        if (auto name = name_in(message, record, 0); name && !name->empty())
            instances.push_back(*std::move(name));
    return instances;
}

Result<std::vector<std::string>> parse_servers(std::string_view answer) {
    ns_msg message{};
    GPUHOST_TRY(records, records_of(message, answer, ns_t_srv));
    std::vector<std::string> servers;
    for (const ns_rr& record : records) {
        const auto host = name_in(message, record, srv_numbers);
        if (!host || !is_host_name(*host))
            continue;
        std::string server = *host + ":" + std::to_string(ns_get16(ns_rr_rdata(record) + srv_port));
        if (!peer_url(server).empty()) // refuses port 0
            servers.push_back(std::move(server));
    }
    return servers;
}

} // namespace gpuhost::images
