// SPDX-License-Identifier: Apache-2.0
// The manifest of a bundle: the document inside its signature. gpuhost-bundle(5) describes it.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// One file of the bundle. The path of a blob follows from its digest and is not written.
struct Member {
    std::string hex; ///< SHA-256
    std::uint64_t size = 0;
    std::string path; ///< of a file that is not a blob: "oci-layout", "index.json"
    /// Hosts that need it: "linux/arm64", "kernel=6.1.0-50-amd64", "os=debian-12", "flavour=open",
    /// "gpu=nvidia". "linux/arm64,kernel=6.6.1" selects hosts that match both. Empty: all hosts.
    std::vector<std::string> hosts;
    bool absent = false; ///< left out of this file (a delta), because the hosts have it

    [[nodiscard]] bool is_blob() const { return path.empty(); }
    /// "blobs/sha256/<hex>", or its path.
    [[nodiscard]] std::string place() const { return is_blob() ? "blobs/sha256/" + hex : path; }
};

struct BundleImage {
    std::string name; ///< normalised; may be empty for an image that is known only by digest
    std::string hex;  ///< digest of its index or manifest
    std::string media_type;
    std::uint64_t size = 0;
    std::vector<std::string> platforms; ///< those in the bundle
    /// The hex digest of the image that this one is about, such as the image that a signature signs; else
    /// empty.
    std::string subject = {};
    std::string artifact_type = {};                      ///< only with a subject
    std::map<std::string, std::string> annotations = {}; ///< only with a subject

    friend bool operator==(const BundleImage&, const BundleImage&) = default;
};
/// Limits of one image's annotations: their number, and the bytes of all keys and values.
constexpr std::size_t most_annotations = 64;
constexpr std::size_t most_annotation_bytes = 4096;

constexpr std::string_view packages_kind = "packages"; ///< packages of the operating system, as a repository
constexpr std::string_view files_kind = "files";       ///< plain files
constexpr std::string_view toolkit_kind = "toolkit";   ///< the NVIDIA Container Toolkit
/// Reports whether hosts keep this kind as a tree of files.
[[nodiscard]] constexpr bool is_tree(std::string_view kind) {
    return kind == packages_kind || kind == files_kind;
}

[[nodiscard]] constexpr bool is_of_driver(std::string_view kind) {
    return kind.substr(0, 7) == "driver-";
}

/// A member that is not an image: an OCI manifest whose layers are files. The title of a layer is the file's
/// name, or its path in a tree.
struct BundleArtifact {
    std::string kind; ///< "driver-packages", "driver-modules", "toolkit", "packages", "files"
    /// "550.163.01"; for packages the distribution ("debian-12"); for files a name that the site chose.
    std::string name;
    std::string kernel; ///< of built modules
    std::string hex;    ///< digest of its manifest
    std::uint64_t size = 0;
    std::string flavour = {}; ///< of modules: "open" or "proprietary"; empty: not stated
};

/// Returns "application/vnd.gpuhost.driver-packages.v1".
[[nodiscard]] std::string artifact_type(const BundleArtifact& artifact);

struct BundleManifest {
    std::string name; ///< "site-images"
    std::uint64_t generation = 0;
    std::uint64_t created = 0;   ///< seconds since 1970
    std::vector<Member> members; ///< in the order of the file
    std::vector<BundleImage> images;
    std::vector<BundleArtifact> artifacts;
};

/// Accepts 1 to 64 lower-case letters and digits, with '.', '_' and '-' between them: "site-images".
[[nodiscard]] bool is_bundle_name(std::string_view text);

/// Checks everything that does not need the members' content: digests, names, and that no member occurs
/// twice. The documents of images and artifacts must be members. Refuses unknown content, because a host must
/// not skip half of a bundle. Needs about 20 MiB of memory beyond the text for 100,000 members.
[[nodiscard]] base::Result<BundleManifest> parse_bundle_manifest(std::string_view text,
                                                                 std::string_view what);
[[nodiscard]] std::string to_text(const BundleManifest& manifest);
/// Returns the SHA-256 of the manifest without the marks for absent members. A bundle and its delta have the
/// same identity.
[[nodiscard]] std::string identity(const BundleManifest& manifest);

} // namespace gpuhost::images
