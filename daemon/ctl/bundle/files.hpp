// SPDX-License-Identifier: Apache-2.0
// Opens bundles that are named on the command line: files, volumes in order, or "-" for standard input.
#pragma once

#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/bundle/reader.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option allow_downgrade_option{"allow-downgrade", "",
                                               "accept an older generation than the present one"};
inline constexpr Option trust_option{"trust", "FILE",
                                     "trust the certificates in this file, not the host's own", false, true};

/// Returns "FILE.001" and so on; `number` starts at 1.
[[nodiscard]] std::string volume_name(const std::string& bundle, std::size_t number);
/// Opens the files of one bundle. If `paths` is only a first volume (FILE.001), opens the other volumes in
/// its directory, too.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_bundle_files(std::span<const std::string> paths);
/// Returns an input for verbs that read the bundle themselves. `files` must outlive it.
[[nodiscard]] base::Result<images::BundleInput> bundle_input(const std::vector<client::InputFile>& files);
/// Loads the certificates of --trust, or else the host's.
[[nodiscard]] base::Result<content::TrustAnchors> chosen_trust(const Session& session);

} // namespace gpuhost::ctl
