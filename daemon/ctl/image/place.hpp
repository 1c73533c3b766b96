// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs that put images into container runtimes. They work without gpuhostd, because they do
// not change the host itself and a pull may take any time.
#pragma once

#include "daemon/ctl/cli/session.hpp"
#include "images/host/placement.hpp"

#include <functional>

namespace gpuhost::ctl {

/// The option --root, for tests and mounted systems only.
inline constexpr Option place_root_option{"root", "DIRECTORY",
                                          "use the bundles, settings and sockets below DIRECTORY"};

[[nodiscard]] base::Result<base::Root> chosen_root(const Session& session);

/// Opens a placer with this host's bundles, settings and container runtimes.
[[nodiscard]] base::Result<images::Placer> open_placer(const base::Root& root);

using Place = std::function<images::PlacementReport(const images::Placer&, const images::Placer::OnText&)>;
/// Runs `place` with progress on stderr, and prints its report. Returns 0 if every image is in place.
[[nodiscard]] base::Result<int> place_images(const Session& session, const base::Root& root,
                                             const Place& place);
/// Places all pinned images. Stores the report for 'gpuhostctl status'.
[[nodiscard]] base::Result<int> place_pinned(const Session& session, const base::Root& root, bool dry_run);

} // namespace gpuhost::ctl
