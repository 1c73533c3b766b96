// SPDX-License-Identifier: Apache-2.0
// Makes a bundle from a specification, for the verbs 'bundle create' and 'bundle collect'.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "daemon/ctl/bundle/hosts.hpp"
#include "images/bundle/spec.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::ctl {

class Session;

/// The file to write and the key that signs it.
struct BundleTarget {
    std::string path;
    std::uint64_t volume_size = 0; ///< bytes; 0: one file
    content::SigningKey key;
};

struct CreatedBundle {
    base::Json document; ///< for --json
    BundleHosts hosts;
    std::string text; ///< a sentence for people: what was written to which file
};

/// Reads the options --output, --volume-size and those of the key. May ask for a passphrase.
[[nodiscard]] base::Result<BundleTarget> chosen_target(const Session& session);

/// Makes the bundle that the specification describes. Its paths are relative to the directory of `spec_path`.
[[nodiscard]] base::Result<CreatedBundle> create_bundle(const Session& session,
                                                        const images::BundleSpec& spec,
                                                        const std::string& spec_path,
                                                        const BundleTarget& target);

} // namespace gpuhost::ctl
