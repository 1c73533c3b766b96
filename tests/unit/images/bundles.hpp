// SPDX-License-Identifier: Apache-2.0
// Bundles in memory, signed with a certificate generated for the test.
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/reader.hpp"
#include "tests/support/pki.hpp"

#include <map>
#include <string>

namespace gpuhost::tests {

[[nodiscard]] base::UniqueFd memory_file(std::string_view bytes);

struct TestBundle {
    /// Adds a member with this content and returns its digest.
    std::string add(const std::string& content, const std::string& path = {});
    [[nodiscard]] base::Result<std::string> write(const Identity& signer) const;
    [[nodiscard]] std::map<std::string, std::string> expected() const; ///< content by place

    images::BundleManifest manifest{"site-images", 7, 1'700'000'000, {}, {}, {}};
    std::map<std::string, std::string> contents; ///< by digest
};

} // namespace gpuhost::tests
