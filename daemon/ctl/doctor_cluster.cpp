// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/ctl/doctor.hpp"
#include "daemon/ctl/document.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::uint64_t day = 86'400;

/// Nothing while it is good for longer than `days`.
std::optional<Diagnosis> judge(const CertificateFile& file, std::uint64_t now_us, std::uint64_t days,
                               const std::string& next) {
    const std::uint64_t now = now_us / 1'000'000;
    if (file.until == 0)
        return error("'" + file.path + "' can't be read as a certificate", next);
    if (file.until <= now)
        return error("'" + file.path + "' ended on " + base::utc_text(file.until), next);
    if (file.until - now < days * day)
        return warning("'" + file.path + "' ends on " + base::utc_text(file.until), next);
    return std::nullopt;
}

} // namespace

Diagnosis check_trust(const DoctorFacts& facts) {
    if (facts.anchors.empty())
        return skipped("/etc/gpuhost/trust.d has no authority");
    std::optional<Diagnosis> worst;
    for (const CertificateFile& file : facts.anchors)
        if (auto found = judge(file, facts.now_us, 30,
                               "bring its successor to /etc/gpuhost/trust.d, then take it out");
            found && (!worst || found->health > worst->health))
            worst = std::move(found);
    return worst.value_or(well(plural(facts.anchors.size(), "authority is", "authorities are") + " valid"));
}

Diagnosis check_cluster(const DoctorFacts& facts) {
    if (!facts.joined)
        return skipped("this host is in no cluster");
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (!facts.cluster.is_object())
        return error("gpuhost-cluster does not run", "systemctl status gpuhost-cluster");
    if (const Json& why = base::member(facts.cluster, "error"); why.is_object()) {
        const std::string hint = text_of(why, "hint");
        return error(text_of(why, "message"), hint.empty() ? "gpuhostctl cluster status" : hint);
    }
    return well(text_of(facts.cluster, "node") + " at " + text_of(facts.cluster, "server"));
}

/// gpuhost-cluster renews it long before it ends.
Diagnosis check_credentials(const DoctorFacts& facts) {
    if (!facts.identity)
        return skipped("this host has no certificate of its own, or it may not be read");
    const auto found = judge(*facts.identity, facts.now_us, 2,
                             "gpuhostctl cluster status; once it has ended: gpuhostctl cluster join");
    return found.value_or(well("good until " + base::utc_text(facts.identity->until)));
}

} // namespace gpuhost::ctl
