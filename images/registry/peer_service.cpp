// SPDX-License-Identifier: Apache-2.0
#include "images/registry/peer_service.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/store/catalogue.hpp"

#include <sys/stat.h>

namespace gpuhost::images {

using base::Json;
using Code = RegistryErrorCode;

namespace {

/// Returns the rest of `target` after "PATH/"; empty if it does not begin with that.
std::string_view name_after(std::string_view target, std::string_view path) {
    const bool fits =
        base::starts_with(target, path) && target.size() > path.size() && target[path.size()] == '/';
    return fits ? target.substr(path.size() + 1) : std::string_view();
}

tl::unexpected<RegistryError> no_bundle() {
    return refuse(Code::NameUnknown, 404, "no signed bundle of that name is on this host");
}

} // namespace

base::Result<SignedBlobs> SignedBlobs::load(const base::Root& root) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    SignedBlobs made;
    for (const std::string& name : names) {
        const auto record = catalogue.record(name);
        if (!record || !record->is_signed())
            continue;
        // An unreadable list is skipped; 'gpuhostctl status' reports it.
        if (const auto owned = catalogue.blobs(name))
            for (const OwnedBlob& blob : *owned)
                made.blobs_.add(blob.hex);
    }
    made.blobs_.finish();
    return made;
}

/// Answers with the list of signed bundles. Skips bundles with unreadable records; 'gpuhostctl status'
/// reports these.
RegistryResult<RegistryAnswer> PeerService::bundles() const {
    const Catalogue catalogue(root_);
    const auto names = catalogue.names();
    if (!names)
        return refuse(Code::Unknown, 500, names.error().message);
    Json bundles = Json::array();
    for (const std::string& name : *names)
        if (const auto record = catalogue.record(name); record && record->is_signed())
            bundles.push_back({{"name", record->name}, {"generation", record->generation}});
    return json_answer(Json{{"bundles", std::move(bundles)}}, "application/json");
}

RegistryResult<RegistryAnswer> PeerService::manifest(const std::string& name) const {
    if (!is_bundle_name(name))
        return no_bundle();
    auto der = Catalogue(root_).open_signed_manifest(name);
    if (!der && der.error().code == base::Errc::NotFound)
        return no_bundle();
    struct stat st {};
    if (!der || ::fstat(der->get(), &st) < 0)
        return refuse(Code::Unknown, 500, der ? "its manifest is not a regular file" : der.error().message);
    RegistryAnswer answer;
    answer.headers.emplace_back("Content-Type", "application/pkcs7-mime");
    answer.part = {0, static_cast<std::uint64_t>(st.st_size)};
    // The manifest is not copied to memory: it may have 64 MiB, and many slow clients may read it.
    answer.file = *std::move(der);
    return answer;
}

RegistryResult<RegistryAnswer> PeerService::blob(const RegistryCall& call, const std::string& hex) {
    const auto blobs = blobs_.current();
    if (!blobs)
        return refuse(Code::Unknown, 500, blobs.error().message);
    if (!(*blobs)->has(hex))
        return refuse(Code::BlobUnknown, 404, "no signed bundle on this host has this blob");
    return blob_answer(root_, call, hex);
}

RegistryResult<RegistryAnswer> PeerService::respond(const RegistryCall& call) {
    if (call.method != "GET" && call.method != "HEAD")
        return refuse(Code::Unsupported, 405, "the service for peers is read only");
    if (call.target == peer_bundles_path)
        return bundles();
    if (const auto name = name_after(call.target, peer_bundles_path); !name.empty())
        return manifest(std::string(name));
    if (const auto hex = name_after(call.target, peer_blobs_path); content::is_sha256(hex))
        return blob(call, std::string(hex));
    return refuse(Code::Unsupported, 404, "no such path in the service for peers");
}

RegistryAnswer PeerService::answer(const RegistryCall& call) {
    auto response = respond(call);
    return response ? *std::move(response) : error_answer(call, response.error());
}

} // namespace gpuhost::images
