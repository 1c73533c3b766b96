// SPDX-License-Identifier: Apache-2.0
#include "images/import/artifacts.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/oci.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t most_files = 100'000; ///< files of all artifacts for one host

/// Returns the path of a blob: in the store if it is there with that size, else in the incoming directory.
/// The import uses the same rule.
std::string place_of(const base::Root& root, const SignedManifest& bundle, const std::string& hex,
                     std::uint64_t size) {
    return BlobStore(root).has(hex, size) ? std::string(blobs_directory) + "/" + hex
                                          : std::string(incoming_directory) + "/" + bundle.digest + "/" + hex;
}

bool is_file_name(const std::string& name) {
    return content::safe_relative_path(name) == name && name.find('/') == std::string::npos &&
           name.size() <= 255;
}

/// Returns the blobs that this host needs from the bundle.
std::set<std::string_view> needed_blobs(const BundleManifest& manifest, const HostFacts& host) {
    std::set<std::string_view> needed;
    for (const Member& member : manifest.members)
        if (member.is_blob() && host.needs(member))
            needed.insert(member.hex);
    return needed;
}

/// Reports whether an artifact of this kind may contain a file with this name. Kinds with is_tree() may have
/// paths; others, such as drivers, only file names.
bool is_name_in(const std::string& name, const std::string& kind) {
    return is_tree(kind) ? is_path_in_tree(name) : is_file_name(name);
}

Result<core::Artifact> read_artifact(const base::Root& root, const SignedManifest& bundle,
                                     const BundleArtifact& source, const std::set<std::string_view>& needed) {
    const std::string what = "artifact " + source.name + " (sha256:" + source.hex + ")";
    GPUHOST_TRY(text, root.read(place_of(root, bundle, source.hex, source.size), document_limit));
    if (content::sha256(text) != source.hex)
        return base::fail(Errc::BadContent, what + ": digest mismatch in the store",
                          "Remove the bundle and import it again.");
    GPUHOST_TRY(document, parse_document(text, "", what));
    if (document.index || document.artifact_type != artifact_type(source))
        return base::fail(Errc::BadContent, what + ": is not of kind " + source.kind);
    core::Artifact artifact{source.kind, source.name, source.kernel, source.flavour, {}};
    std::set<std::string> names;
    for (std::size_t i = 1; i < document.content.size(); ++i) { // entry 0 is the configuration
        const Descriptor& file = document.content[i];
        if (!is_name_in(file.title, source.kind) || !names.insert(file.title).second)
            return base::fail(Errc::BadContent,
                              what + ": '" + file.title + "' is an invalid or duplicate file name");
        if (needed.count(file.hex) == 0)
            return base::fail(Errc::BadContent, what + ": file '" + file.title + "' is missing");
        artifact.files.push_back({file.title, place_of(root, bundle, file.hex, file.size), file.hex});
    }
    return artifact;
}

Result<LinkTree> tree_of(const core::Artifact& artifact) {
    LinkTree tree{artifact.name, {}};
    for (const core::ArtifactFile& file : artifact.files)
        tree.files.push_back({file.name, file.sha256});
    std::sort(tree.files.begin(), tree.files.end(),
              [](const LinkedFile& a, const LinkedFile& b) { return a.name < b.name; });
    const std::vector<std::string> names = names_in(tree);
    if (const std::string twice = file_and_directory(names); !twice.empty())
        return base::fail(Errc::BadContent,
                          "its " + artifact.kind + " have '" + twice + "' as a file and as a directory");
    if (artifact.kind == packages_kind && package_tree(artifact.name, names).empty())
        return base::fail(Errc::BadContent, "its packages for " + artifact.name + " are not a repository");
    return tree;
}

} // namespace

std::vector<std::string> artifact_kinds_for(const BundleManifest& manifest, const HostFacts& host) {
    std::vector<std::string> kinds;
    if (manifest.artifacts.empty())
        return kinds;
    const std::set<std::string_view> needed = needed_blobs(manifest, host);
    for (const BundleArtifact& artifact : manifest.artifacts)
        if (needed.count(artifact.hex) != 0)
            kinds.push_back(artifact.kind);
    return kinds;
}

Result<HostArtifacts> host_artifacts(const base::Root& root, const SignedManifest& bundle,
                                     const HostFacts& host) {
    if (bundle.manifest.artifacts.empty())
        return HostArtifacts(); // saves the search through all blobs: most bundles have no artifacts
    const std::set<std::string_view> needed = needed_blobs(bundle.manifest, host);
    std::set<std::tuple<std::string, std::string, std::string, std::string>> kinds;
    HostArtifacts artifacts;
    std::size_t files = 0;
    for (const BundleArtifact& source : bundle.manifest.artifacts) {
        if (needed.count(source.hex) == 0)
            continue;
        if (!kinds.emplace(source.kind, source.name, source.kernel, source.flavour).second)
            return base::fail(Errc::BadContent,
                              "has " + source.kind + " " + source.name + " twice for this host");
        GPUHOST_TRY(artifact, read_artifact(root, bundle, source, needed));
        files += artifact.files.size();
        if (files > most_files)
            return base::fail(Errc::BadContent, "its drivers, toolkits, packages and files have more than " +
                                                    std::to_string(most_files) + " files");
        if (!is_tree(artifact.kind)) {
            artifacts.others.push_back(std::move(artifact));
            continue;
        }
        GPUHOST_TRY(tree, tree_of(artifact));
        (artifact.kind == packages_kind ? artifacts.packages : artifacts.files).push_back(std::move(tree));
    }
    return artifacts;
}

std::vector<std::string> drivers_for(const BundleManifest& manifest, const HostFacts& host) {
    std::vector<std::string> versions;
    for (const BundleArtifact& artifact : manifest.artifacts) {
        const auto document = std::find_if(manifest.members.begin(), manifest.members.end(),
                                           [&](const Member& member) { return member.hex == artifact.hex; });
        if (is_of_driver(artifact.kind) && document != manifest.members.end() && host.needs(*document) &&
            !base::contains(versions, artifact.name))
            versions.push_back(artifact.name);
    }
    std::sort(versions.begin(), versions.end(),
              [](const std::string& a, const std::string& b) { return base::compare_numbers(a, b) > 0; });
    return versions;
}

} // namespace gpuhost::images
