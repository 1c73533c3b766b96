// SPDX-License-Identifier: Apache-2.0
// Parses the specification from which a bundle is made, written by a person:
//
//   [Bundle]
//   Name=site-images
//   Generation=7
//
//   [Image registry.example/team/app:v1]
//   Layout=app              an OCI image layout; or Archive=, a file as "docker save" writes it, or a
//                           layout in a tar
//   Reference=v1            selects one of its images, by name or digest; empty: the one of that name, or
//                           the only one
//   Platforms=linux/amd64   empty: all platforms of the image
//
//   [Images]                all images of a layout or an archive, under their own names
//   Archive=k3s-airgap-images-amd64.tar.zst
//
//   [Driver 550.163.01]     or [Driver 550.163.01 linux/amd64]: for hosts of that platform only
//   Packages=debs/*.deb     what 'gpuhostctl driver import' accepts
//
//   [Modules 550.163.01 6.1.0-50-amd64]
//   Files=built/*.ko        likewise, for hosts with that kernel; append a platform to restrict it
//   Flavour=open            or proprietary; empty: for either. A bundle may have both
//   GPUs=10de:2330          for hosts with one of these; empty: with any NVIDIA GPU. Also a key of [Driver]
//
//   [Toolkit 1.18.1]        the NVIDIA Container Toolkit, for hosts of the platform in its packages'
//                           names; or append one
//   Packages=toolkit/*.deb  what 'gpuhostctl toolkit import' accepts
//
//   [Packages debian-12]    of the operating system, for hosts of that distribution; append a platform to
//                           restrict it
//   Files=debs/*.deb        a repository is made of them; or Repository=, the directory of an existing one
//   OpenPGPKey=ops@example  the repository is signed with it
//
//   [Files runbooks]        or [Files runbooks linux/amd64]: a directory of that name on hosts
//   Files=*.pdf             or Directory=, with all that is below it
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// A source of images: a layout or an archive.
struct ImageSource {
    std::string name;    ///< normalised; empty: all images there, under their own names
    std::string layout;  ///< a directory; or empty
    std::string archive; ///< a file; or empty
    std::string reference;
    std::vector<std::string> platforms;
    std::string where;    ///< "site.spec:4", for messages
    bool unnamed = false; ///< also images without a name, known only by digest

    [[nodiscard]] const std::string& path() const { return archive.empty() ? layout : archive; }
};

struct ArtifactSource {
    std::string kind; ///< kind, name and kernel: see BundleArtifact
    std::string name;
    std::string kernel;
    std::string platform;              ///< of its hosts; empty: any, or the one that its packages state
    std::vector<std::string> patterns; ///< of files, in shell syntax
    std::string where;
    std::string flavour = {};           ///< of modules; empty: not stated
    std::vector<std::string> gpus = {}; ///< of a driver's hosts, "10de:2330"; empty: any NVIDIA GPU
    std::string directory = {};         ///< used as it is, a repository for packages; or empty
    /// Packages only: the keys, as gpg names them, that sign the repository.
    std::vector<std::string> open_pgp = {};
};

struct BundleSpec {
    std::string name;
    std::uint64_t generation = 0;
    std::vector<ImageSource> images;
    std::vector<ArtifactSource> artifacts;
};

/// Parses a specification. Unknown content is an error, unlike in the daemon's configuration: a bundle must
/// not lack what its author meant.
[[nodiscard]] base::Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what);

} // namespace gpuhost::images
