// SPDX-License-Identifier: Apache-2.0
// Reduces a bundle to what given hosts need, by their inventories, and reports what they would lack.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/verb.hpp"
#include "images/create/for_hosts.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

class Session;

inline constexpr Option for_option{
    "for", "FILE", "make it for the host whose 'inventory export' wrote this file", false, true};

struct BundleHosts {
    std::vector<images::Inventory> hosts; ///< from --for; empty: any host
    std::vector<images::LeftOut> left_out;
    std::vector<images::Unserved> unserved;
};

[[nodiscard]] base::Result<std::vector<images::Inventory>> chosen_hosts(const Session& session);
/// Removes from `contents` the items that none of the hosts of --for needs.
[[nodiscard]] base::Result<BundleHosts> fit_to_hosts(const Session& session, images::Contents& contents);

/// Returns the images and artifacts of a bundle by name, with their sizes.
[[nodiscard]] base::Json content_of(const images::BundleManifest& manifest);
[[nodiscard]] std::string render_content(const base::Json& content);
void add_hosts(base::Json& document, const BundleHosts& hosts);
[[nodiscard]] std::string render_hosts(const BundleHosts& hosts);
/// Returns 0. Fails with NotFound if a host would lack something.
[[nodiscard]] base::Result<int> verdict(const BundleHosts& hosts);

} // namespace gpuhost::ctl
