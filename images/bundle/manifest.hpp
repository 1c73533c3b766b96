// SPDX-License-Identifier: Apache-2.0
// The manifest of a bundle: the signed JSON document that lists all its content. gpuhost-bundle(5) describes
// it.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// One file of the bundle: a blob, or one of the files of an OCI layout. A blob's path is computed from its
/// digest, so the manifest does not contain it.
struct Member {
    std::string hex; ///< SHA-256
    std::uint64_t size = 0;
    std::string path; ///< "oci-layout" or "index.json"; empty for a blob
    /// Selects the hosts that need the member. A host needs it if it matches one of the words: "linux/arm64",
    /// "kernel=6.1.0-50-amd64", "os=debian-12", "flavour=open", "gpu=nvidia". "linux/arm64,kernel=6.6.1"
    /// matches hosts with both properties. Empty: all hosts need it.
    std::vector<std::string> hosts;
    /// True if this bundle is a delta and its file lacks the member. The hosts for the delta have the blob
    /// already, or do not need it.
    bool absent = false;

    [[nodiscard]] bool is_blob() const { return path.empty(); }
    /// Returns the path in the bundle: "blobs/sha256/<hex>", or `path`.
    [[nodiscard]] std::string place() const { return is_blob() ? "blobs/sha256/" + hex : path; }
};

struct BundleImage {
    std::string name; ///< normalised; may be empty for an image that is known only by digest
    std::string hex;  ///< SHA-256 of its OCI index or manifest
    std::string media_type;
    std::uint64_t size = 0;
    std::vector<std::string> platforms; ///< the platforms of the image that the bundle contains
    /// The SHA-256 of the image to which this one refers (OCI's "subject"). An example is a signature, whose
    /// subject is the signed image. Empty for other images.
    std::string subject = {};
    std::string artifact_type = {};                      ///< only with a subject
    std::map<std::string, std::string> annotations = {}; ///< only with a subject

    friend bool operator==(const BundleImage&, const BundleImage&) = default;
};
/// Limits of one image's annotations: their number, and the total bytes of their keys and values.
constexpr std::size_t most_annotations = 64;
constexpr std::size_t most_annotation_bytes = 4096;

constexpr std::string_view packages_kind = "packages"; ///< packages of the operating system, as a repository
constexpr std::string_view files_kind = "files";       ///< plain files
constexpr std::string_view toolkit_kind = "toolkit";   ///< the NVIDIA Container Toolkit
/// Reports whether hosts present artifacts of this kind as a directory of files (images/store/link_tree.hpp).
[[nodiscard]] constexpr bool is_tree(std::string_view kind) {
    return kind == packages_kind || kind == files_kind;
}

[[nodiscard]] constexpr bool is_of_driver(std::string_view kind) {
    return kind.substr(0, 7) == "driver-";
}

/// Content of a bundle that is not an image: an OCI manifest whose layers are files. A layer's annotation
/// "org.opencontainers.image.title" is the file's name. For a kind with is_tree() it is the file's path.
struct BundleArtifact {
    std::string kind; ///< "driver-packages", "driver-modules", "toolkit", "packages", "files"
    /// "550.163.01"; for packages the distribution ("debian-12"); for files a name that the site chose.
    std::string name;
    std::string kernel; ///< release of the kernel that the modules are for; empty for other kinds
    std::string hex;    ///< SHA-256 of its OCI manifest
    std::uint64_t size = 0;
    std::string flavour = {}; ///< of "driver-modules": "open" or "proprietary"; empty: not stated
};

/// Returns the "artifactType" of the artifact's OCI manifest: "application/vnd.gpuhost.driver-packages.v1".
[[nodiscard]] std::string artifact_type(const BundleArtifact& artifact);

struct BundleManifest {
    std::string name; ///< "site-images"
    std::uint64_t generation = 0;
    std::uint64_t created = 0;   ///< seconds since 1970
    std::vector<Member> members; ///< in the order of their content in the bundle
    std::vector<BundleImage> images;
    std::vector<BundleArtifact> artifacts;
};

constexpr std::uint64_t most_generation = std::uint64_t{1} << 50U;
/// Accepts 1 to 64 lower-case letters and digits, with '.', '_' and '-' between them: "site-images".
[[nodiscard]] bool is_bundle_name(std::string_view text);

/// Parses a manifest. `what` names it in errors. Checks all that does not need the members' content: digests,
/// names, and that no member occurs twice. The OCI index or manifest of each image and artifact must be a
/// member. Fails with Unsupported for an unknown key or kind, because a host must not import half of a
/// bundle. Fails with BadContent for other errors. Needs about 20 MiB of memory beyond the text for 100,000
/// members.
[[nodiscard]] base::Result<BundleManifest> parse_bundle_manifest(std::string_view text,
                                                                 std::string_view what);
[[nodiscard]] std::string to_text(const BundleManifest& manifest);
/// Returns the SHA-256 of the manifest's text without Member::absent. A bundle and its deltas, which lack
/// some members, therefore have the same identity.
[[nodiscard]] std::string identity(const BundleManifest& manifest);

} // namespace gpuhost::images
