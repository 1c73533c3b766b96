// SPDX-License-Identifier: Apache-2.0
// Which hosts a member of a bundle is for.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/driver_wish.hpp"
#include "images/bundle/manifest.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// A word of Member::hosts, taken apart: "linux/arm64,kernel=6.6.1", "os=debian-12". All parts must fit a host.
struct HostWord {
    std::string_view platform = {}; ///< empty: any
    std::string_view kernel = {};   ///< likewise
    std::string_view distribution = {};
    std::string_view flavour = {}; ///< of kernel modules: "open" or "proprietary"
    std::string_view gpu = {};     ///< any_gpu, or "10de:2330"
};
constexpr std::string_view any_gpu = "nvidia";
/// Nothing for a word of which a part is not known: it may be what a member is about.
[[nodiscard]] std::optional<HostWord> parse_host_word(std::string_view word);
[[nodiscard]] std::string host_word(const HostWord& host);

/// What a host is, as far as members are for some hosts only.
struct HostFacts {
    std::string platform;                        ///< "linux/amd64"
    std::vector<std::string> kernels;            ///< installed ones
    std::vector<std::string> distributions = {}; ///< as distributions_of() has them
    core::DriverWish driver = {};

    [[nodiscard]] bool fits(const HostWord& word) const;
    [[nodiscard]] bool needs(const Member& member) const;
    /// Is it for this platform, or a variant of it, as "linux/arm64/v8"?
    [[nodiscard]] bool is(std::string_view wanted) const;
};

/// As the bus and steps pass it on.
[[nodiscard]] base::Json to_json(const HostFacts& host);
[[nodiscard]] HostFacts host_facts_from_json(const base::Json& value);

/// As OCI calls it: this machine's, or that of the programs in a system that is mounted somewhere.
[[nodiscard]] std::string host_platform(const base::Root& root);
/// Of a kernel's package: what others put into its directory, as we do, outlives it.
[[nodiscard]] std::vector<std::string> installed_kernels(const base::Root& root);

/// "linux/amd64", "linux/arm/v7": what may stand in a specification.
[[nodiscard]] bool is_platform(std::string_view text);
[[nodiscard]] bool is_flavour(std::string_view text);
/// "10de:2330", the numbers of vendor and device as lspci(8) prints them.
[[nodiscard]] bool is_gpu(std::string_view text);

} // namespace gpuhost::images
