// SPDX-License-Identifier: Apache-2.0
// Describes a bundle for 'bundle show': its contents, their sizes, and what a host would import.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "images/bundle/reader.hpp"

namespace gpuhost::ctl {

/// Returns the document that org.gpuhost1(5) describes. Omits sizes that are unknown. If this host's store
/// can't be read, omits which blobs are missing.
[[nodiscard]] base::Json document_of(const images::BundleReader& bundle, const base::Root& root);

} // namespace gpuhost::ctl
