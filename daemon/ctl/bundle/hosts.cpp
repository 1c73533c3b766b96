// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/hosts.hpp"

#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <map>
#include <set>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;

Result<std::vector<images::Inventory>> chosen_hosts(const Session& session) {
    std::vector<images::Inventory> hosts;
    for (const std::string& path : session.arguments().values(for_option)) {
        GPUHOST_TRY(text, read_small_file(path, images::inventory_limit));
        GPUHOST_TRY(host, images::parse_inventory(text, path));
        if (host.hostname.empty())
            host.hostname = path;
        hosts.push_back(std::move(host));
    }
    return hosts;
}

Result<BundleHosts> fit_to_hosts(const Session& session, images::Contents& contents) {
    BundleHosts result;
    GPUHOST_TRY(hosts, chosen_hosts(session));
    if (hosts.empty())
        return result;
    GPUHOST_TRY(unserved, images::unserved(contents, hosts));
    result.left_out = images::leave_out(contents.manifest, hosts);
    result.unserved = std::move(unserved);
    result.hosts = std::move(hosts);
    return result;
}

Json content_of(const images::BundleManifest& manifest) {
    std::set<std::string_view> absent;
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
    for (const images::Member& member : manifest.members) {
        if (member.absent)
            absent.insert(member.hex);
        else
            bytes += member.size;
        blobs += member.is_blob() && !member.absent ? 1 : 0;
    }
    Json content = Json::array();
    for (const images::BundleImage& image : manifest.images)
        if (!image.name.empty() && absent.count(image.hex) == 0)
            content.push_back("image " + image.name);
    for (const images::BundleArtifact& artifact : manifest.artifacts)
        if (absent.count(artifact.hex) == 0)
            content.push_back(artifact.kind + " " + artifact.name +
                              (artifact.kernel.empty() ? "" : " for " + artifact.kernel) +
                              (artifact.flavour.empty() ? "" : ", " + artifact.flavour));
    return {{"name", manifest.name},
            {"generation", manifest.generation},
            {"content", std::move(content)},
            {"blobs", blobs},
            {"bytes", bytes}};
}

std::string render_content(const Json& content) {
    std::string text = "Bundle " + text_of(content, "name") + ", generation " +
                       std::to_string(number_of(content, "generation")) + ": " +
                       plural(number_of(content, "blobs"), "blob", "blobs") + ", " +
                       human_bytes(number_of(content, "bytes")) + "\n";
    for (const Json& line : list_of(content, "content"))
        text += "  " + printable(line.get<std::string>()) + "\n";
    return text;
}

void add_hosts(Json& document, const BundleHosts& hosts) {
    if (hosts.hosts.empty())
        return;
    document["hosts"] = Json::array();
    for (const images::Inventory& host : hosts.hosts)
        document["hosts"].push_back(host.hostname);
    document["omitted"] = Json::array();
    for (const images::LeftOut& left : hosts.left_out)
        document["omitted"].push_back({{"why", left.why}, {"blobs", left.blobs}, {"bytes", left.bytes}});
    document["unmet"] = Json::array();
    for (const images::Unserved& one : hosts.unserved)
        document["unmet"].push_back({{"host", one.host}, {"what", one.what}});
}

std::string render_hosts(const BundleHosts& hosts) {
    std::string text;
    for (const images::LeftOut& left : hosts.left_out)
        text += "Left out: " + plural(left.blobs, "blob", "blobs") + ", " + human_bytes(left.bytes) + ", " +
                printable(left.why) + "\n";
    for (const images::Unserved& one : hosts.unserved)
        text += "Not served: " + printable(one.host) + ": " + printable(one.what) + "\n";
    return text;
}

Result<int> verdict(const BundleHosts& hosts) {
    if (hosts.unserved.empty())
        return 0;
    std::set<std::string_view> names;
    for (const images::Unserved& one : hosts.unserved)
        names.insert(one.host);
    return base::fail(Errc::NotFound,
                      std::to_string(names.size()) + " of " + plural(hosts.hosts.size(), "host", "hosts") +
                          " would lack content that they need",
                      "Add the missing content to the specification.");
}

} // namespace gpuhost::ctl
