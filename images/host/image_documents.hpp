// SPDX-License-Identifier: Apache-2.0
// Documents about images for the bus. org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/store/references.hpp"

#include <string>

namespace gpuhost::images {

/// Matches a shell pattern, where "*" also matches "/". A text without "*", "?" and "[" matches anywhere in
/// the name, and an empty one matches all names.
[[nodiscard]] bool fits_pattern(const std::string& name, const std::string& pattern);

/// Returns every name that matches `pattern`, each with the winning claim.
[[nodiscard]] base::Json list_images(const References& references, const std::string& pattern);

/// Fails with NotFound if no bundle has that name. Counts the missing blobs of the winning bundle, which an
/// import would restore.
[[nodiscard]] base::Result<base::Json> show_image(const base::Root& root, const References& references,
                                                  const std::string& name);

} // namespace gpuhost::images
