// SPDX-License-Identifier: Apache-2.0
// The result of 'bundle collect': its files with their origin and digest, what could not be found, and the
// specification of the bundle.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/collect/request.hpp"
#include "images/bundle/spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// The record of what was collected, in the directory.
inline constexpr const char* collection_file = "collected.json";
/// The OCI image layout in the directory.
inline constexpr const char* image_layout = "images";

struct CollectedItem {
    std::string kind = {};    ///< "driver", "package" or "image"
    std::string name = {};    ///< of a package, file or image
    std::string version = {}; ///< of a package; the driver's version for a driver's file
    std::string file = {};    ///< path in the directory; of an image its layout
    std::string source = {};  ///< URL without a password, path or image name from which it was fetched
    std::string sha256 = {};  ///< of an image: of its index or manifest
    std::uint64_t size = 0;
    bool present = false;    ///< was in the directory already, with the right digest
    std::string driver = {}; ///< driver version that it belongs to; empty: none
};

/// Something that could not be found.
struct MissingItem {
    std::string what;
    std::string why;
    std::string hint; ///< a sentence
};

struct Collection {
    std::vector<CollectedItem> items;
    std::vector<MissingItem> missing;
    std::vector<std::string> on_every_host; ///< packages that were left out, as each host has them
    std::vector<std::string> notes;         ///< sentences for a person
};

/// Returns a URL without its part "user:password@". Returns other texts unchanged.
[[nodiscard]] std::string without_password(const std::string& url);

/// Returns the document that is stored and that --json prints.
[[nodiscard]] base::Json to_json(const Collection& collection, const CollectRequest& request);
/// Reads the record of an earlier run; empty if there is none or if it is damaged.
[[nodiscard]] std::vector<CollectedItem> read_collection(const base::Root& directory);
[[nodiscard]] base::Result<void> write_collection(const base::Root& directory, const Collection& collection,
                                                  const CollectRequest& request);

/// Returns the specification of a bundle with everything that was collected.
[[nodiscard]] images::BundleSpec spec_of(const Collection& collection, const CollectRequest& request);

/// Returns the digest of a file in the directory; empty if it can't be read.
[[nodiscard]] std::string digest_of(const base::Root& directory, const std::string& file);

} // namespace gpuhost::ctl
