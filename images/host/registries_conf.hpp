// SPDX-License-Identifier: Apache-2.0
// Finds the registries that an administrator or another program has configured in the form of
// containers-registries.conf(5). gpuhost's own file must not override them.
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>

namespace gpuhost::images {

inline constexpr std::string_view containers_file = "/etc/containers/registries.conf.d/50-gpuhost.conf";

/// Returns the host part of each prefix and location in all files but containers_file, in both versions of
/// the format. A host part may be a pattern, "*.example".
[[nodiscard]] std::set<std::string> configured_hosts(const base::Root& root);

/// Reports whether one of `hosts` is `registry` or a pattern that matches it. gpuhost then writes no table
/// for the registry. For an image, the table with the longest prefix is used, and among equal ones that in
/// the last file. A table of gpuhost would therefore override the existing one.
[[nodiscard]] bool is_configured(const std::set<std::string>& hosts, const std::string& registry);

} // namespace gpuhost::images
