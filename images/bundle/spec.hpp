// SPDX-License-Identifier: Apache-2.0
// What a person says that a bundle is to be made of:
//
//   [Bundle]
//   Name=site-images
//   Generation=7
//
//   [Image registry.example/team/app:v1]
//   Layout=app              an OCI image layout; or Archive=, a file as "docker save" writes it, or a layout in a tar
//   Reference=v1            which of its images, by name or digest; empty: the one of that name, or the only one
//   Platforms=linux/amd64   empty: all that are there
//
//   [Images]                all that are in a layout or an archive, under their own names
//   Archive=k3s-airgap-images-amd64.tar.zst
//
//   [Driver 550.163.01]     or [Driver 550.163.01 linux/amd64]: for hosts of that platform only
//   Packages=debs/*.deb     what 'gpuhostctl driver import' takes
//
//   [Modules 550.163.01 6.1.0-50-amd64]
//   Files=built/*.ko        likewise, for hosts with that kernel; of one platform only with that one behind it
//   Flavour=open            or proprietary; empty: for either. A bundle may have both
//   GPUs=10de:2330          of a driver's too: for hosts with one of these; empty: with any of NVIDIA's
//
//   [Toolkit 1.18.1]        NVIDIA's for containers, for hosts of the platform that its packages' names say; or with that behind it
//   Packages=toolkit/*.deb  what 'gpuhostctl toolkit import' takes
//
//   [Packages debian-12]    of the operating system, for hosts of that distribution; likewise
//   Files=debs/*.deb        a repository is made of them; or Repository=, a directory that is one
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

/// Where images come from: a layout or an archive.
struct ImageSource {
    std::string name;    ///< normalised; empty: all that are there, under their own names
    std::string layout;  ///< a directory; or empty
    std::string archive; ///< a file; or empty
    std::string reference;
    std::vector<std::string> platforms;
    std::string where;    ///< "site.spec:4", for messages
    bool unnamed = false; ///< also those without a name: only by digest

    [[nodiscard]] const std::string& path() const { return archive.empty() ? layout : archive; }
};

struct ArtifactSource {
    std::string kind; ///< this, name and kernel as in BundleArtifact
    std::string name;
    std::string kernel;
    std::string platform;              ///< of its hosts; empty: any, or what its packages say
    std::vector<std::string> patterns; ///< of files, as a shell has them
    std::string where;
    std::string flavour = {};           ///< of modules; empty: not said
    std::vector<std::string> gpus = {}; ///< of a driver's hosts, "10de:2330"; empty: NVIDIA's, whichever
    std::string directory = {};         ///< that is taken as it is: of packages a repository; or empty
    std::vector<std::string> open_pgp =
        {}; ///< of packages: what gpg calls the keys that the repository is signed with
};

struct BundleSpec {
    std::string name;
    std::uint64_t generation = 0;
    std::vector<ImageSource> images;
    std::vector<ArtifactSource> artifacts;
};

/// Unlike a daemon's configuration, what is not understood is an error: a bundle must not lack what was meant.
[[nodiscard]] base::Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what);

} // namespace gpuhost::images
