// SPDX-License-Identifier: Apache-2.0
#include "images/artifacts.hpp"

#include "daemon/content/archive.hpp"
#include "daemon/content/sha256.hpp"
#include "images/oci.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

std::string place_of(const base::Root& root, const SignedManifest& bundle, const std::string& hex) {
    std::string stored = std::string(blobs_directory) + "/" + hex;
    return root.exists(stored) ? stored : std::string(incoming_directory) + "/" + bundle.digest + "/" + hex;
}

bool is_file_name(const std::string& name) {
    return content::safe_relative_path(name) == name && name.find('/') == std::string::npos &&
           name.size() <= 255;
}

bool host_needs(const BundleManifest& manifest, const HostFacts& host, const std::string& hex) {
    return std::any_of(manifest.members.begin(), manifest.members.end(), [&](const Member& member) {
        return member.is_blob() && member.hex == hex && host.needs(member);
    });
}

Result<core::Artifact> read_artifact(const base::Root& root, const SignedManifest& bundle,
                                     const BundleArtifact& source) {
    const std::string what = "artifact " + source.name + " (sha256:" + source.hex + ")";
    GPUHOST_TRY(text, root.read(place_of(root, bundle, source.hex), document_limit));
    if (content::sha256(text) != source.hex)
        return base::fail(Errc::BadContent, what + ": is damaged in the store", "Import the bundle again.");
    GPUHOST_TRY(document, parse_document(text, "", what));
    if (document.index || document.artifact_type != artifact_type(source))
        return base::fail(Errc::BadContent, what + ": is no " + source.kind);
    core::Artifact artifact{source.kind, source.name, source.kernel, {}};
    std::set<std::string> names;
    for (std::size_t i = 1; i < document.content.size(); ++i) { // the first is its configuration
        const Descriptor& file = document.content[i];
        if (!is_file_name(file.title) || !names.insert(file.title).second)
            return base::fail(Errc::BadContent, what + ": '" + file.title + "' is no name of a file in it");
        artifact.files.push_back({file.title, place_of(root, bundle, file.hex)});
    }
    return artifact;
}

} // namespace

Result<std::vector<core::Artifact>> host_artifacts(const base::Root& root, const SignedManifest& bundle,
                                                   const HostFacts& host) {
    std::vector<core::Artifact> artifacts;
    for (const BundleArtifact& source : bundle.manifest.artifacts) {
        if (!host_needs(bundle.manifest, host, source.hex))
            continue;
        GPUHOST_TRY(artifact, read_artifact(root, bundle, source));
        artifacts.push_back(std::move(artifact));
    }
    return artifacts;
}

} // namespace gpuhost::images
