// SPDX-License-Identifier: Apache-2.0
#include "images/host/image_documents.hpp"

#include "daemon/base/json.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>

#include <fnmatch.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

Json to_json(const Claim& claim) {
    return {{"name", claim.name()},           {"digest", "sha256:" + claim.hex},
            {"media_type", claim.media_type}, {"platforms", *claim.platforms},
            {"bundle", claim.bundle},         {"generation", claim.generation}};
}

} // namespace

bool fits_pattern(const std::string& name, const std::string& pattern) {
    return pattern.find_first_of("*?[") == std::string::npos
               ? name.find(pattern) != std::string::npos
               : ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

Json list_images(const References& references, const std::string& pattern) {
    Json images = Json::array();
    for (const Claim& claim : references.all()) {
        const std::string name = claim.name();
        if (fits_pattern(name, pattern))
            images.push_back(to_json(claim));
    }
    Json problems = Json::array();
    for (const base::Error& problem : references.problems())
        problems.push_back(problem.message);
    return {{"images", std::move(images)}, {"problems", std::move(problems)}};
}

Result<Json> show_image(const base::Root& root, const References& references, const std::string& name) {
    GPUHOST_TRY(reference, parse_reference(name));
    const auto claims = references.claims(reference);
    if (claims.empty())
        return base::fail(Errc::NotFound, "no bundle on this host has image '" + reference.text() + "'",
                          "Run 'gpuhostctl image list' to list the images of this host.");
    const BlobStore store(root);
    GPUHOST_TRY(owned, Catalogue(root).blobs(std::string(claims.front().bundle)));
    Json image = to_json(claims.front());
    image["missing"] = std::count_if(owned.begin(), owned.end(),
                                     [&](const OwnedBlob& blob) { return !store.has(blob.hex, blob.size); });
    image["claims"] = Json::array();
    for (const Claim& claim : claims)
        image["claims"].push_back(to_json(claim));
    return image;
}

} // namespace gpuhost::images
