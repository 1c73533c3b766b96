// SPDX-License-Identifier: Apache-2.0
// Parses the specification from which a bundle is made, written by a person:
//
//   [Bundle]
//   Name=site-images
//   Generation=7
//
//   [Image registry.example/team/app:v1]
//   Layout=app              the directory of an OCI image layout; or Archive=, a file of "docker save", or
//                           a tar of an OCI image layout
//   Reference=v1            selects an image of the layout or archive, by name or digest; empty: the image
//                           with the name in the header, or the only image
//   Platforms=linux/amd64   empty: all platforms of the image
//
//   [Images]                all images of a layout or an archive, under their own names
//   Archive=k3s-airgap-images-amd64.tar.zst
//
//   [Driver 550.163.01]     or [Driver 550.163.01 linux/amd64]: for hosts of that platform only
//   Packages=debs/*.deb     what 'gpuhostctl driver import' accepts
//
//   [Modules 550.163.01 6.1.0-50-amd64]
//   Files=built/*.ko        built kernel modules, for hosts with that kernel; append a platform to the
//                           header for hosts of that platform only
//   Flavour=open            or proprietary: for hosts that accept this flavour; empty: for all. A bundle may
//                           have one section for each
//   GPUs=10de:2330          for hosts with one of these GPUs; empty: with any NVIDIA GPU. Also in [Driver]
//
//   [Toolkit 1.18.1]        the NVIDIA Container Toolkit, for hosts of the platform in the names of its
//                           packages; or append a platform to the header
//   Packages=toolkit/*.deb  what 'gpuhostctl toolkit import' accepts
//
//   [Packages debian-12]    packages of the operating system, for hosts of that distribution; append a
//                           platform to the header for hosts of that platform only
//   Files=debs/*.deb        a repository is made of these packages; or Repository=, the directory of an
//                           existing repository
//   OpenPGPKey=ops@example  the repository is signed with this key
//
//   [Files runbooks]        or [Files runbooks linux/amd64]: plain files; hosts show them in a directory of
//                           that name
//   Files=*.pdf             or Directory=, a directory with all files below it
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// A section [Image …] or [Images]: a layout or an archive, and which of its images to include.
struct ImageSource {
    /// NAME of [Image NAME], normalised. Empty for [Images]: all images, under their own names.
    std::string name;
    std::string layout;  ///< Layout=, a directory; empty if `archive` is set
    std::string archive; ///< Archive=, a file; empty if `layout` is set
    /// Reference= and Platforms=, as described above.
    std::string reference;
    std::vector<std::string> platforms;
    std::string where;    ///< "site.spec:4", for messages
    bool unnamed = false; ///< true: include also images that have only a digest, no name

    [[nodiscard]] const std::string& path() const { return archive.empty() ? layout : archive; }
};

struct ArtifactSource {
    std::string kind; ///< kind, name and kernel: see BundleArtifact
    std::string name;
    std::string kernel;
    /// The platform of the hosts that need the artifact. Empty: the platform that its packages state, or any.
    std::string platform;
    std::vector<std::string> patterns; ///< paths of files, as shell patterns
    std::string where;
    std::string flavour = {}; ///< Flavour= of [Modules]; empty: not set
    /// GPUs=, "10de:2330": only for hosts with one of them; empty: with any NVIDIA GPU
    std::vector<std::string> gpus = {};
    /// Directory= or Repository=, included unchanged; empty if `patterns` is set
    std::string directory = {};
    /// OpenPGPKey= of [Packages]: keys that sign the repository, as gpg names them.
    std::vector<std::string> open_pgp = {};
};

struct BundleSpec {
    std::string name;
    std::uint64_t generation = 0;
    std::vector<ImageSource> images;
    std::vector<ArtifactSource> artifacts;
};

/// Parses a specification. `what` names its file in errors. Fails with InvalidArgument for an unknown section
/// or key, because a bundle must not lack what its author meant. (In its own configuration, the daemon
/// ignores them.)
[[nodiscard]] base::Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what);
/// Returns a text from which parse_bundle_spec() makes the same specification, except `where` and `unnamed`.
[[nodiscard]] std::string to_text(const BundleSpec& spec);

} // namespace gpuhost::images
