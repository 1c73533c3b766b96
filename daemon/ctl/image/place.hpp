// SPDX-License-Identifier: Apache-2.0
// What the verbs share that put images into runtimes. They do it themselves: nothing of the host's own is changed, and a
// pull is as long as it is.
#pragma once

#include "daemon/ctl/cli/session.hpp"
#include "images/host/placement.hpp"

#include <functional>

namespace gpuhost::ctl {

/// For tests and for what is mounted elsewhere.
inline constexpr Option place_root_option{"root", "DIRECTORY",
                                          "use the bundles, settings and sockets below DIRECTORY"};

[[nodiscard]] base::Result<base::Root> chosen_root(const Session& session);

/// Of this host's bundles, settings and runtimes.
[[nodiscard]] base::Result<images::Placer> open_placer(const base::Root& root);

using Place = std::function<images::PlacementReport(const images::Placer&, const images::Placer::OnText&)>;
/// Places with progress on stderr, prints the report, and says by the exit status whether all is as wanted.
[[nodiscard]] base::Result<int> place_images(const Session& session, const base::Root& root,
                                             const Place& place);
/// All that is pinned; keeps the report for 'gpuhostctl status'.
[[nodiscard]] base::Result<int> place_pinned(const Session& session, const base::Root& root, bool dry_run);

} // namespace gpuhost::ctl
