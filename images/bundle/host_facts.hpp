// SPDX-License-Identifier: Apache-2.0
// Decides whether a host needs a member of a bundle (Member::hosts).
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/driver_filter.hpp"
#include "images/bundle/manifest.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// A parsed word of Member::hosts: "linux/arm64,kernel=6.6.1", "os=debian-12". The word selects the hosts
/// that match all its parts. An empty part matches every host.
struct HostWord {
    std::string_view platform = {}; ///< empty: any
    std::string_view kernel = {};   ///< empty: any
    std::string_view distribution = {};
    std::string_view flavour = {}; ///< of the kernel modules that a host uses: "open" or "proprietary"
    std::string_view gpu = {};     ///< any_gpu, or "10de:2330"
};
constexpr std::string_view any_gpu = "nvidia";
/// Parses a word. Returns nothing if a part is unknown or malformed. Such a word selects no host, because the
/// unknown part may exclude the host.
[[nodiscard]] std::optional<HostWord> parse_host_word(std::string_view word);
/// Returns the text of a word; the inverse of parse_host_word().
[[nodiscard]] std::string host_word(const HostWord& host);

/// The properties of a host that decide which members of a bundle it needs.
struct HostFacts {
    std::string platform;                        ///< "linux/amd64"
    std::vector<std::string> kernels;            ///< releases of the installed kernels
    std::vector<std::string> distributions = {}; ///< see distributions_of()
    core::DriverFilter driver = {};

    /// Reports whether the word selects this host.
    [[nodiscard]] bool fits(const HostWord& word) const;
    [[nodiscard]] bool needs(const Member& member) const;
    /// Reports whether `wanted` is this platform or a variant of it, such as "linux/arm64/v8".
    [[nodiscard]] bool is(std::string_view wanted) const;
};

/// Convert to and from a JSON object. The images component's document on D-Bus and the arguments of steps
/// contain this object.
[[nodiscard]] base::Json to_json(const HostFacts& host);
[[nodiscard]] HostFacts host_facts_from_json(const base::Json& value);

/// Returns the OCI platform of this machine, "linux/amd64". If `root` is a mounted system, returns the
/// platform of its programs.
[[nodiscard]] std::string host_platform(const base::Root& root);

/// Accepts the platforms that a specification may name: "linux/amd64", "linux/arm/v7".
[[nodiscard]] bool is_platform(std::string_view text);
[[nodiscard]] bool is_flavour(std::string_view text);
/// Accepts the vendor and device numbers as lspci(8) prints them: "10de:2330".
[[nodiscard]] bool is_gpu(std::string_view text);

} // namespace gpuhost::images
