// SPDX-License-Identifier: Apache-2.0
// Makes the JSON documents about images that D-Bus methods return. org.gpuhost1(5) describes them.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "images/store/references.hpp"

#include <string>

namespace gpuhost::images {

/// Reports whether `name` matches a shell pattern, where "*" also matches "/". A pattern without "*", "?" and
/// "[" matches every name that contains it; an empty one matches all names.
[[nodiscard]] bool fits_pattern(const std::string& name, const std::string& pattern);

/// Returns every image name that matches `pattern`. Each has the image of the bundle that precedes all others
/// with that name (References::find()).
[[nodiscard]] base::Json list_images(const References& references, const std::string& pattern);

/// Returns the images of all bundles with this name. "missing" is the number of missing blobs of the whole
/// bundle that precedes the others. An import of that bundle would restore them. Fails with NotFound if no
/// bundle has the name.
[[nodiscard]] base::Result<base::Json> show_image(const base::Root& root, const References& references,
                                                  const std::string& name);

} // namespace gpuhost::images
