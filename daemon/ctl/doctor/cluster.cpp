// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/doctor/doctor.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::uint64_t day = 86'400;

/// Returns a problem of a certificate; nullopt if it is valid for more than `days` days.
std::optional<Diagnosis> judge(const CertificateFile& file, std::uint64_t now_us, std::uint64_t days,
                               const std::string& next) {
    const std::uint64_t now = now_us / 1'000'000;
    if (file.until == 0)
        return error("'" + file.path + "' can't be read as a certificate", next);
    if (file.until <= now)
        return error("'" + file.path + "' expired on " + base::utc_text(file.until), next);
    if (file.until - now < days * day)
        return warning("'" + file.path + "' expires on " + base::utc_text(file.until), next);
    return std::nullopt;
}

} // namespace

Diagnosis check_trust(const DoctorFacts& facts) {
    const std::optional<base::Error>& failed = facts.trust_error;
    if (failed && failed->code == base::Errc::AccessDenied) // no trust file, or this user can't read it
        return skipped(failed->message);
    if (failed)
        return error(failed->message, failed->hint.empty()
                                          ? "Repair or remove that file: no bundle can be imported before."
                                          : failed->hint);
    if (facts.anchors.empty())
        return skipped("not known when the authorities expire");
    std::optional<Diagnosis> worst;
    std::size_t valid = 0;
    for (const CertificateFile& file : facts.anchors) {
        auto found =
            judge(file, facts.now_us, 30, "Copy its successor to /etc/gpuhost/trust.d, then remove it.");
        valid += found && found->health == Health::Error ? 0 : 1;
        if (found && (!worst || found->health > worst->health))
            worst = std::move(found);
    }
    if (worst && valid == 0)
        return error("no authority is valid: " + worst->text, worst->next);
    if (worst)
        return warning(worst->text, worst->next); // bundles of the other authorities are still accepted
    return well(plural(facts.anchors.size(), "authority is", "authorities are") + " valid");
}

Diagnosis check_cluster(const DoctorFacts& facts) {
    if (!facts.joined)
        return skipped("this host is not in a cluster");
    if (!facts.is_host)
        return skipped("this is a mounted system");
    if (!facts.cluster.is_object())
        return error("gpuhost-cluster is not running", "systemctl status gpuhost-cluster");
    if (const Json& why = base::member(facts.cluster, "error"); why.is_object()) {
        const std::string hint = text_of(why, "hint");
        return error(text_of(why, "message"), hint.empty() ? "gpuhostctl cluster status" : hint);
    }
    return well(text_of(facts.cluster, "node") + " at " + text_of(facts.cluster, "server"));
}

/// Checks this host's certificate, which gpuhost-cluster normally renews long before it expires.
Diagnosis check_credentials(const DoctorFacts& facts) {
    if (!facts.identity)
        return skipped("this host's own certificate not found, or not readable");
    const auto found = judge(*facts.identity, facts.now_us, 2,
                             "gpuhostctl cluster status; after it has expired: gpuhostctl cluster join");
    return found.value_or(well("valid until " + base::utc_text(facts.identity->until)));
}

} // namespace gpuhost::ctl
