// SPDX-License-Identifier: Apache-2.0
// Fetches what a request names into its directory: packages, files of a driver, images. Records what it
// could not find in the collection instead of failing.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/ctl/collect/apt.hpp"
#include "daemon/ctl/collect/collection.hpp"
#include "daemon/ctl/collect/programs.hpp"
#include "daemon/ctl/collect/request.hpp"

#include <set>
#include <string>
#include <vector>

namespace gpuhost::ctl {

struct Gathering {
    const Programs& programs;
    const CollectRequest& request;
    const base::Root& directory;       ///< the request's directory; an empty one if a dry run finds none
    std::vector<CollectedItem> before; ///< the record of the last run
    Collection result = {};

    void miss(std::string what, std::string why, std::string hint) {
        result.missing.push_back({std::move(what), std::move(why), std::move(hint)});
    }
};

/// Writes the record of the collection. While it is not complete, the record keeps the files of the last run,
/// so that a later run finds them present or removes them.
[[nodiscard]] base::Result<void> write_record(const Gathering& gathering, bool is_complete);

/// Fetches the files of --driver-files. Returns the driver versions of these files: the archive is not asked
/// for them.
[[nodiscard]] base::Result<std::set<std::string>> gather_driver_files(Gathering& gathering);

/// Fetches packages of the archive: drivers except those in `have`, kernel headers, compiler and others with
/// their dependencies. Copies the .deb files of the request.
[[nodiscard]] base::Result<void> gather_packages(Gathering& gathering, const Apt& apt,
                                                 const std::set<std::string>& have);

/// Copies images from their registries.
[[nodiscard]] base::Result<void> gather_images(Gathering& gathering);

/// Copies a file of this machine to `file` in the directory, unless it is there with the same content. Adds
/// the item with digest and size. In a dry run only adds it.
[[nodiscard]] base::Result<void> copy_file(Gathering& gathering, const std::string& from, CollectedItem item);

} // namespace gpuhost::ctl
