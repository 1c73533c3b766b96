// SPDX-License-Identifier: Apache-2.0
// Bundles that are named on the command line: files, volumes in their order, or "-" for standard input.
#pragma once

#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/bundle/reader.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option trust_option{"trust", "FILE", "trust these certificates and not the host's own",
                                     false, true};

/// "FILE.001" and so on, from 1.
[[nodiscard]] std::string volume_name(const std::string& bundle, std::size_t number);
/// Of one bundle. The first volume alone stands for all that are beside it.
[[nodiscard]] base::Result<std::vector<InputFile>> open_bundle_files(std::span<const std::string> paths);
/// For who reads it himself. `files` must outlive it.
[[nodiscard]] base::Result<images::BundleInput> bundle_input(const std::vector<InputFile>& files);
/// Of --trust, or the host's.
[[nodiscard]] base::Result<content::TrustAnchors> chosen_trust(const Session& session);

} // namespace gpuhost::ctl
