// SPDX-License-Identifier: Apache-2.0
// What 'bundle show' says: what is in a bundle, how large each thing is, and what a host would take of it.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/bundle/reader.hpp"

namespace gpuhost::ctl {

/// As org.gpuhost1(5) describes it. Sizes that nothing says, and what a store lacks that can't be read, are left out.
[[nodiscard]] base::Json document_of(const images::BundleReader& bundle, const base::Root& root);

} // namespace gpuhost::ctl
