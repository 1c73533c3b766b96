// SPDX-License-Identifier: Apache-2.0
// Reads what other files in the form of containers-registries.conf(5) configure, so that ours disables none
// of it.
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>

namespace gpuhost::images {

inline constexpr std::string_view containers_file = "/etc/containers/registries.conf.d/50-gpuhost.conf";

/// Returns the hosts of each prefix and location in files other than ours, in both versions of the format. A
/// prefix may be a pattern, "*.example".
[[nodiscard]] std::set<std::string> configured_hosts(const base::Root& root);

/// Reports whether one of them is `registry` or covers it. The longest prefix of an image's name decides, and
/// the last file among equal ones. A table of ours for that registry would therefore override theirs.
[[nodiscard]] bool is_configured(const std::set<std::string>& hosts, const std::string& registry);

} // namespace gpuhost::images
