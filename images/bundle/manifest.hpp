// SPDX-License-Identifier: Apache-2.0
// What a bundle says of itself: the document inside its signature. gpuhost-bundle(5) describes it.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// One file of the bundle. A blob's path follows from its digest and is not written.
struct Member {
    std::string hex; ///< of its SHA-256
    std::uint64_t size = 0;
    std::string path; ///< of what is no blob: "oci-layout", "index.json"
    /// Hosts that need it: "linux/arm64", "kernel=6.1.0-50-amd64", "os=debian-12", "flavour=open", "gpu=nvidia",
    /// "linux/arm64,kernel=6.6.1" for those that are both; empty: all.
    std::vector<std::string> hosts;
    bool absent = false; ///< not in this file: a delta, for hosts that have it

    [[nodiscard]] bool is_blob() const { return path.empty(); }
    /// "blobs/sha256/<hex>", or its path.
    [[nodiscard]] std::string place() const { return is_blob() ? "blobs/sha256/" + hex : path; }
};

struct BundleImage {
    std::string name; ///< normalised; may be empty: only by digest
    std::string hex;  ///< of its index or manifest
    std::string media_type;
    std::uint64_t size = 0;
    std::vector<std::string> platforms; ///< that are in the bundle
    /// Of what is about another image, as its signature: the hex digest of that; empty for all others.
    std::string subject = {};
    std::string artifact_type = {};                      ///< what it says to be, if it is about another
    std::map<std::string, std::string> annotations = {}; ///< likewise

    friend bool operator==(const BundleImage&, const BundleImage&) = default;
};
/// Of one image's annotations: their number, and the bytes of all keys and values.
constexpr std::size_t most_annotations = 64;
constexpr std::size_t most_annotation_bytes = 4096;

constexpr std::string_view packages_kind = "packages"; ///< of the operating system, as a repository
constexpr std::string_view files_kind = "files";       ///< for whoever needs them
constexpr std::string_view toolkit_kind = "toolkit";   ///< NVIDIA's for containers
/// Is that kept on hosts as a tree of files?
[[nodiscard]] constexpr bool is_tree(std::string_view kind) {
    return kind == packages_kind || kind == files_kind;
}

[[nodiscard]] constexpr bool is_of_driver(std::string_view kind) {
    return kind.substr(0, 7) == "driver-";
}

/// What is no image: an OCI manifest whose layers are files, each with its name as title; of a tree its path in
/// that.
struct BundleArtifact {
    std::string kind; ///< "driver-packages", "driver-modules", "toolkit", "packages", "files"
    std::string
        name; ///< "550.163.01"; of packages the distribution: "debian-12"; of files as the site calls them
    std::string kernel; ///< of modules that are built
    std::string hex;    ///< of its manifest
    std::uint64_t size = 0;
    std::string flavour = {}; ///< of modules: "open" or "proprietary"; empty: not said
};

/// "application/vnd.gpuhost.driver-packages.v1"
[[nodiscard]] std::string artifact_type(const BundleArtifact& artifact);

struct BundleManifest {
    std::string name; ///< "site-images"
    std::uint64_t generation = 0;
    std::uint64_t created = 0;   ///< seconds since 1970
    std::vector<Member> members; ///< in the order of the file
    std::vector<BundleImage> images;
    std::vector<BundleArtifact> artifacts;
};

/// "site-images": 1 to 64 lower-case letters and digits, with '.', '_' and '-' between them.
[[nodiscard]] bool is_bundle_name(std::string_view text);

/// Everything is checked that can be without the members' content: digests, names, no member twice, the
/// documents of images and artifacts among the members. What this version does not know is refused: a host must not skip half of a bundle.
/// Memory for 100,000 members: about 20 MiB beyond the text.
[[nodiscard]] base::Result<BundleManifest> parse_bundle_manifest(std::string_view text,
                                                                 std::string_view what);
[[nodiscard]] std::string to_text(const BundleManifest& manifest);
/// SHA-256 of what it says but for which members are absent: a bundle and a delta that leads to it are the same.
[[nodiscard]] std::string identity(const BundleManifest& manifest);

} // namespace gpuhost::images
