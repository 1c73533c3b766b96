// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/content.hpp"

#include "daemon/base/json.hpp"
#include "daemon/ctl/bundle/host_inventory.hpp"
#include "images/bundle/items.hpp"
#include "images/bundle/oci.hpp"
#include "images/import/import.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;
using images::BundleReader;
using images::Member;

namespace {

/// This host, and the members of the bundle that its store lacks.
struct Host {
    images::HostFacts facts;
    bool known = false;            ///< the store can be read, or does not exist yet
    std::string problem;           ///< why the store can't be read
    std::set<const Member*> lacks; ///< needed members that are not in the store
};

Host host_share(const BundleReader& bundle, const base::Root& root) {
    Host host{read_host_facts(root), false, {}, {}};
    const auto store = root.list(images::blobs_directory);
    host.known = store || store.error().code == Errc::NotFound;
    if (!host.known) {
        host.problem = store.error().message;
        return host;
    }
    for (const Member* const member : images::missing_members(root, bundle.manifest(), host.facts))
        host.lacks.insert(member);
    return host;
}

/// Returns a function that reads documents of the bundle. A document that a delta omits is read from this
/// host's store.
images::BundleItems::ReadDocument reader_of(const BundleReader& bundle, const base::Root& root) {
    return [read = images::documents_of(bundle), &root](const Member& member) -> Result<std::string> {
        if (!member.absent)
            return read(member);
        GPUHOST_TRY(fd, images::BlobStore(root).open(member.hex));
        return base::read_all(fd.get(), images::document_limit, member.place());
    };
}

std::uint64_t bytes_of(const std::vector<const Member*>& members) {
    std::uint64_t bytes = 0;
    for (const Member* const member : members)
        bytes += member->size;
    return bytes;
}

/// Adds to `item` its size, and what this host would do with it. `taken`: this host needs the item.
void add_share(Json& item, const Result<std::vector<const Member*>>& members, const Host& host, bool taken) {
    item["selected"] = taken;
    // A document that can't be read is not an error here: a pipe can't be read twice, and a delta omits
    // documents.
    if (!members && members.error().code != Errc::Unsupported && members.error().code != Errc::NotFound)
        item["problem"] = members.error().message;
    if (!members)
        return;
    item["bytes"] = bytes_of(*members);
    if (!taken || !host.known)
        return;
    std::vector<const Member*> missing;
    std::copy_if(members->begin(), members->end(), std::back_inserter(missing),
                 [&](const Member* member) { return host.lacks.count(member) != 0; });
    item["missing_bytes"] = bytes_of(missing);
}

bool is_for(const images::BundleImage& image, const images::HostFacts& host) {
    return image.platforms.empty() ||
           std::any_of(image.platforms.begin(), image.platforms.end(),
                       [&](const std::string& platform) { return host.is(platform); });
}

Json images_of(const BundleReader& bundle, const images::BundleItems& items, const Host& host) {
    Json list = Json::array();
    for (const images::BundleImage& image : bundle.manifest().images) {
        Json item{{"name", image.name}, {"digest", "sha256:" + image.hex}, {"platforms", image.platforms}};
        add_share(item, items.members_of(image), host, is_for(image, host.facts));
        list.push_back(std::move(item));
    }
    return list;
}

Json artifacts_of(const BundleReader& bundle, const images::BundleItems& items, const Host& host) {
    Json list = Json::array();
    for (const images::BundleArtifact& artifact : bundle.manifest().artifacts) {
        const Member& document = *items.find(artifact.hex); // not null: reading the manifest checks this
        Json item{{"kind", artifact.kind},
                  {"name", artifact.name},
                  {"kernel", artifact.kernel},
                  {"flavour", artifact.flavour},
                  {"digest", "sha256:" + artifact.hex},
                  {"hosts", document.hosts}};
        add_share(item, items.members_of(artifact), host, host.facts.needs(document));
        list.push_back(std::move(item));
    }
    return list;
}

/// Returns why an import on this host would be refused: for the bundle's generation or date, or for lack of
/// disk space. Empty if it would not be refused. Missing blobs are not a reason. The document lists them for
/// each item.
std::string refusal(const BundleReader& bundle, const base::Root& root, const images::HostFacts& host) {
    const auto least = images::least_generations(root);
    if (!least)
        return least.error().message;
    const auto plan = images::plan_import(root, bundle.signed_manifest(), host, {false, true, *least});
    return plan || (plan.error().code != Errc::Refused && plan.error().code != Errc::NoSpace)
               ? ""
               : plan.error().message;
}

Json host_share(const BundleReader& bundle, const base::Root& root, const Host& host) {
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
    for (const Member& member : bundle.manifest().members)
        if (member.is_blob() && host.facts.needs(member)) {
            ++blobs;
            bytes += member.size;
        }
    Json share{{"blobs", blobs}, {"bytes", bytes}};
    if (!host.known) {
        share["problem"] = host.problem;
        return share;
    }
    share["missing_blobs"] = host.lacks.size();
    share["missing_bytes"] = bytes_of({host.lacks.begin(), host.lacks.end()});
    share["missing"] = Json::array();
    for (const Member& member : bundle.manifest().members)
        if (member.absent && host.lacks.count(&member) != 0)
            share["missing"].push_back({{"digest", "sha256:" + member.hex}, {"size", member.size}});
    if (std::string why = refusal(bundle, root, host.facts); !why.empty())
        share["refused"] = std::move(why);
    return share;
}

} // namespace

Json document_of(const BundleReader& bundle, const base::Root& root) {
    const images::BundleManifest& manifest = bundle.manifest();
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
    std::uint64_t absent = 0;
    for (const Member& member : manifest.members) {
        if (!member.is_blob())
            continue;
        ++blobs;
        bytes += member.absent ? 0 : member.size;
        absent += member.absent ? 1 : 0;
    }
    const Host host = host_share(bundle, root);
    const images::BundleItems items(manifest, reader_of(bundle, root));
    return {{"name", manifest.name},
            {"generation", manifest.generation},
            {"created", manifest.created},
            {"signer", {{"subject", bundle.signer().subject}, {"not_after", bundle.signer().not_after}}},
            {"blobs", blobs},
            {"bytes", bytes},
            {"absent", absent},
            {"host", host_share(bundle, root, host)},
            {"images", images_of(bundle, items, host)},
            {"artifacts", artifacts_of(bundle, items, host)}};
}

} // namespace gpuhost::ctl
