// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/upgrade/choice.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

/// Returns the version that was chosen before, by the cluster's policy or by an administrator; may be empty.
std::string decided(const ChoiceFacts& facts) {
    if (!facts.offered.empty())
        return facts.offered;
    return base::is_driver_version(facts.configured) ? facts.configured : std::string();
}

Result<std::string> wanted_version(const ChoiceFacts& facts) {
    if (!facts.named.empty())
        return facts.named;
    if (facts.has_input && (!facts.brought || facts.brought->empty()))
        return std::string();
    if (facts.has_input && facts.brought->size() == 1)
        return facts.brought->front();
    if (facts.has_input)
        return base::fail(Errc::InvalidArgument,
                          "the input has several driver versions: " + base::join(*facts.brought, ", "),
                          "Name one: gpuhostctl upgrade " + suggested_version(*facts.brought, facts) +
                              facts.arguments + ".");
    if (std::string version = decided(facts); !version.empty())
        return version;
    if (!facts.configured.empty()) // off or preinstalled
        return base::fail(
            Errc::Refused,
            "Version=" + facts.configured +
                " in gpuhostd.conf: gpuhostd does not manage the driver of this host",
            "Set Version= there to a driver version, or remove it. Then run: gpuhostctl reload.");
    if (facts.store.empty())
        return base::fail(Errc::NotFound, "the driver store is empty",
                          "Name a bundle or driver packages: gpuhostctl upgrade FILE….");
    return facts.store.front();
}

/// Fails if the next apply would return to another version.
Result<void> check_decided(const std::string& version, const ChoiceFacts& facts) {
    if (!facts.offered.empty() && facts.offered != version)
        return base::fail(
            Errc::Refused,
            "the cluster's policy selects driver " + facts.offered + " for this host, not " + version,
            facts.has_input ? "To bring it in without a swap, use gpuhostctl bundle import or gpuhostctl "
                              "driver import. Then change the version in the policy."
                            : "Follow the policy: gpuhostctl upgrade " + facts.offered +
                                  ". Or change the version in the policy.");
    if (!facts.offered.empty() || facts.configured.empty() || facts.configured == version)
        return {};
    return base::fail(
        Errc::Refused,
        "Version=" + facts.configured + " in gpuhostd.conf: the next apply would not keep driver " + version,
        "Set Version=" + version + " there, and run: gpuhostctl reload. Then repeat this command.");
}

Result<void> check_available(const std::string& version, const ChoiceFacts& facts) {
    if (facts.has_input && (!facts.brought || base::contains(*facts.brought, version)))
        return {};
    if (base::contains(facts.store, version)) {
        if (!facts.has_input || facts.brought->empty())
            return {};
        return base::fail(Errc::Refused,
                          "driver " + version + " is in the store, but the input has only " +
                              base::join(*facts.brought, ", "),
                          "Leave out the input: gpuhostctl upgrade " + version + ".");
    }
    const std::string in_store =
        facts.store.empty() ? "The store is empty." : "The store has " + base::join(facts.store, ", ") + ".";
    if (!facts.has_input)
        return base::fail(Errc::NotFound, "driver " + version + " is not in the store",
                          "Name a bundle or packages with it: gpuhostctl upgrade " + version + " FILE…. " +
                              in_store);
    return base::fail(Errc::Refused,
                      "driver " + version +
                          " is not in the store, and the input does not have it for this host",
                      (facts.brought->empty() ? "The input has no driver for this host. "
                                              : "The input has " + base::join(*facts.brought, ", ") + ". ") +
                          in_store);
}

} // namespace

std::string suggested_version(const std::vector<std::string>& brought, const ChoiceFacts& facts) {
    const std::string before = decided(facts);
    return base::contains(brought, before) ? before : brought.front();
}

Result<std::string> choose_version(const ChoiceFacts& facts) {
    GPUHOST_TRY(version, wanted_version(facts));
    if (version.empty())
        return version;
    GPUHOST_CHECK(check_decided(version, facts));
    GPUHOST_CHECK(check_available(version, facts));
    return version;
}

} // namespace gpuhost::ctl
