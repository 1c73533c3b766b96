// SPDX-License-Identifier: Apache-2.0
// Hosts that a bundle is made for, by their inventories, and what is said of them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/create/for_hosts.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option for_option{"for", "FILE", "make it for the host with this inventory", false, true};

struct BundleHosts {
    std::vector<images::Inventory> hosts; ///< none: whoever takes it
    std::vector<images::LeftOut> left_out;
    std::vector<images::Unserved> unserved;
};

[[nodiscard]] base::Result<std::vector<images::Inventory>> chosen_hosts(const Session& session);
/// Leaves out of `contents` what those of --for do not need.
[[nodiscard]] base::Result<BundleHosts> fit_to_hosts(const Session& session, images::Contents& contents);

/// What goes in: images and artifacts by name, and how much that is.
[[nodiscard]] base::Json content_of(const images::BundleManifest& manifest);
[[nodiscard]] std::string render_content(const base::Json& content);
void add_hosts(base::Json& document, const BundleHosts& hosts);
[[nodiscard]] std::string render_hosts(const BundleHosts& hosts);
/// NotFound if one of them would lack something.
[[nodiscard]] base::Result<int> verdict(const BundleHosts& hosts);

} // namespace gpuhost::ctl
