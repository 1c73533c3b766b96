// SPDX-License-Identifier: Apache-2.0
// Decides which hosts need a member of a bundle.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "daemon/core/driver_filter.hpp"
#include "images/bundle/manifest.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// A parsed word of Member::hosts: "linux/arm64,kernel=6.6.1", "os=debian-12". A host must match all parts.
struct HostWord {
    std::string_view platform = {}; ///< empty: any
    std::string_view kernel = {};   ///< empty: any
    std::string_view distribution = {};
    std::string_view flavour = {}; ///< of kernel modules: "open" or "proprietary"
    std::string_view gpu = {};     ///< any_gpu, or "10de:2330"
};
constexpr std::string_view any_gpu = "nvidia";
/// Returns nothing if a part of the word is unknown, because that part may be essential.
[[nodiscard]] std::optional<HostWord> parse_host_word(std::string_view word);
[[nodiscard]] std::string host_word(const HostWord& host);

/// The properties of a host that select members.
struct HostFacts {
    std::string platform;                        ///< "linux/amd64"
    std::vector<std::string> kernels;            ///< installed ones
    std::vector<std::string> distributions = {}; ///< see distributions_of()
    core::DriverFilter driver = {};

    [[nodiscard]] bool fits(const HostWord& word) const;
    [[nodiscard]] bool needs(const Member& member) const;
    /// Reports whether `wanted` is this platform or a variant of it, such as "linux/arm64/v8".
    [[nodiscard]] bool is(std::string_view wanted) const;
};

/// The form on the bus and in the arguments of steps.
[[nodiscard]] base::Json to_json(const HostFacts& host);
[[nodiscard]] HostFacts host_facts_from_json(const base::Json& value);

/// Returns the OCI platform of this machine, or of the programs in a system that is mounted at `root`.
[[nodiscard]] std::string host_platform(const base::Root& root);
/// Returns the kernels that a package installed. Directories of modules that others (and this program) fill
/// outlive the package and do not count.
[[nodiscard]] std::vector<std::string> installed_kernels(const base::Root& root);

/// Accepts the platforms that a specification may name: "linux/amd64", "linux/arm/v7".
[[nodiscard]] bool is_platform(std::string_view text);
[[nodiscard]] bool is_flavour(std::string_view text);
/// Accepts the vendor and device numbers as lspci(8) prints them: "10de:2330".
[[nodiscard]] bool is_gpu(std::string_view text);

} // namespace gpuhost::images
