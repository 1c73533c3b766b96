// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/spec_documents.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

std::string state_name(DeviceClaim::State state) {
    switch (state) {
    case DeviceClaim::State::Shadowed:
        return "shadowed";
    case DeviceClaim::State::Conflict:
        return "conflict";
    default:
        return "used";
    }
}

Json document_of(const SpecFile& file) {
    Json document{{"path", file.path}, {"problems", file.problems}, {"stale", file.stale}};
    if (file.spec) {
        document["kind"] = file.spec->kind;
        document["cdi_version"] = file.spec->version;
        document["driver"] = driver_version(*file.spec);
        document["ours"] = file.ours;
        document["devices"] = file.spec->devices.size();
    }
    return document;
}

Json document_of(const DeviceClaim& claim) {
    return {{"name", claim.name},
            {"file", claim.file->path},
            {"driver", driver_version(*claim.file->spec)},
            {"ours", claim.file->ours},
            {"stale", !claim.file->stale.empty()},
            {"state", state_name(claim.state)},
            {"other", claim.other == nullptr ? "" : claim.other->path}};
}

template <class Values>
Json documents_of(const Values& values) {
    Json documents = Json::array();
    for (const auto& value : values)
        documents.push_back(document_of(value));
    return documents;
}

/// Returns the edits for a container: those of the specification, then those of the device.
SpecEdits edits_of(const DeviceClaim& claim) {
    SpecEdits edits = claim.file->spec->edits;
    const SpecEdits& own = claim.device->edits;
    const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    append(edits.env, own.env);
    append(edits.nodes, own.nodes);
    append(edits.net_devices, own.net_devices);
    append(edits.hooks, own.hooks);
    append(edits.mounts, own.mounts);
    append(edits.additional_gids, own.additional_gids);
    if (own.intel_rdt)
        edits.intel_rdt = own.intel_rdt;
    return edits;
}

} // namespace

Json list_devices(const std::vector<SpecFile>& files) {
    return {{"devices", documents_of(device_claims(files))}, {"files", documents_of(files)}};
}

Result<Json> show_device(const std::vector<SpecFile>& files, const std::string& name) {
    const auto claims = device_claims(files);
    const auto is_it = [&](const DeviceClaim& claim) {
        return claim.name == name && claim.state != DeviceClaim::State::Shadowed;
    };
    const auto claim = std::find_if(claims.begin(), claims.end(), is_it);
    if (claim == claims.end())
        return base::fail(Errc::NotFound, "no specification has the device '" + name + "'",
                          "List the devices with 'gpuhostctl cdi list'.");
    Json document = document_of(*claim);
    document["stale"] = claim->file->stale;
    document["edits"] = to_json(edits_of(*claim));
    return document;
}

Json check_files(const std::vector<SpecFile>& files) {
    std::vector<SpecFile> checked = files;
    for (const DeviceClaim& claim : device_claims(files))
        if (claim.state == DeviceClaim::State::Conflict)
            checked[static_cast<std::size_t>(claim.file - files.data())].problems.push_back(
                claim.other->path + " also has " + claim.name + ", so no container gets it");
    return {{"files", documents_of(checked)}};
}

} // namespace gpuhost::runtime
