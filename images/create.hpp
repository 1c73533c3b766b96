// SPDX-License-Identifier: Apache-2.0
// What goes into a bundle: from a specification to a manifest and the files that hold its members. On the machine
// where bundles are made, which needs no daemon.
//
//   [Bundle]
//   Name=site-images
//   Generation=7
//
//   [Image registry.example/team/app:v1]
//   Layout=app              an OCI image layout, seen from the specification's directory
//   Reference=v1            which of its images, by name or digest; empty: the only one
//   Platforms=linux/amd64   empty: all that the layout has
//
//   [Driver 550.163.01]     or [Driver 550.163.01 linux/amd64]: for hosts of that platform only
//   Packages=debs/*.deb     what 'gpuhostctl driver import' takes
//
//   [Modules 550.163.01 6.1.0-50-amd64]
//   Files=built/*.ko        likewise, for hosts with that kernel
#pragma once

#include "images/bundle_manifest.hpp"
#include "images/bundle_writer.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct ImageSource {
    std::string name; ///< normalised
    std::string layout;
    std::string reference;
    std::vector<std::string> platforms;
    std::string where; ///< "site.spec:4", for messages
};

struct ArtifactSource {
    std::string kind; ///< this, name and kernel as in BundleArtifact
    std::string name;
    std::string kernel;
    std::vector<std::string> hosts;    ///< as in Member
    std::vector<std::string> patterns; ///< of files, as a shell has them
    std::string where;
};

struct BundleSpec {
    std::string name;
    std::uint64_t generation = 0;
    std::vector<ImageSource> images;
    std::vector<ArtifactSource> artifacts;
};

/// Unlike a daemon's configuration, what is not understood is an error: a bundle must not lack what was meant.
[[nodiscard]] base::Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what);

/// A manifest, and where its members are.
struct Contents {
    BundleManifest manifest;
    std::map<std::string, std::string> files; ///< path by digest
    std::map<std::string, std::string> texts; ///< what is made for the bundle, by digest

    [[nodiscard]] base::Result<MemberBytes> open(const Member& member) const;
};

/// `directory` is what relative paths in the specification start from; `created` is in seconds since 1970.
[[nodiscard]] base::Result<Contents> collect(const BundleSpec& spec, const std::string& directory,
                                             std::uint64_t created);

} // namespace gpuhost::images
