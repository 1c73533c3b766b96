// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster/offer.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/cli/session.hpp"

namespace gpuhost::ctl {

using base::Json;
using base::member;

namespace {

constexpr const char* driver = "driver";

std::string all_but_driver(const Json& components) {
    std::string names;
    for (const auto& [name, component] : components.items())
        if (name != driver)
            names += (names.empty() ? "" : " ") + name;
    return names;
}

} // namespace

Json upgrade_by_cluster() {
    const auto root = base::Root::open("/");
    const auto text = root ? root->read(cluster::status_file) : base::fail(root.error());
    const auto document = text ? base::parse_json(*text, "the status") : base::fail(text.error());
    Json upgrade = document ? member(*document, "upgrade") : Json();
    if (upgrade.is_object())
        upgrade["node"] = base::string_or(*document, "node", "");
    return upgrade;
}

base::Result<ClusterOffer> cluster_offer(client::Client& client, const client::Options& only) {
    const auto given = only.find("only");
    auto names = base::split_words(given == only.end() ? "" : std::get<std::string>(given->second));
    if (given != only.end() && std::erase(names, driver) == 0)
        return ClusterOffer{};
    GPUHOST_TRY(host, client.describe_host());
    ClusterOffer offer;
    const Json& desired = member(member(host, "cluster"), "desired");
    offer.driver = base::string_or(desired, driver, "");
    offer.scheduled = base::string_or(desired, "scheduled", "");
    if (!offer.driver.empty() || !offer.scheduled.empty())
        offer.rest =
            given == only.end() ? all_but_driver(member(host, "components")) : base::join(names, " ");
    return offer;
}

void note_turn(Session& session, const std::string& version) {
    session.note("gpuhost-cluster upgrades this host to driver " + version +
                 " when its turn comes; follow it with: gpuhostctl cluster status\n");
}

base::Result<void> request_upgrade(Session& session, const std::string& version) {
    GPUHOST_TRY(client, session.client());
    const PasswordAgent agent(session);
    GPUHOST_CHECK(client->ask(client::manager_call("RequestUpgrade", {version})));
    note_turn(session, version);
    return {};
}

} // namespace gpuhost::ctl
