// SPDX-License-Identifier: Apache-2.0
// What the rooms' objects share: their methods are requests to a component.
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/call.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::bus {

inline constexpr Option dry_run_option{"dry-run", 'b'};

/// Descriptors that came with a call, with their names.
struct Files {
    std::vector<std::string> names;
    std::vector<base::UniqueFd> inputs;
};
/// Reads an a(sh).
[[nodiscard]] base::Result<Files> read_files(sd_bus_message* call);

class Requests {
  public:
    /// `component` must outlive it.
    Requests(host::Manager& manager, std::string_view component) : manager_(manager), component_(component) {}

    /// A property has no way to say why it is not known: List and Describe do.
    [[nodiscard]] base::Json observed() const;
    /// Reads the options behind a method's arguments, starts the operation, replies with it.
    [[nodiscard]] base::Result<void> start(sd_bus_message* call, const core::Subject& subject,
                                           base::Json request, std::span<const Option> options,
                                           std::vector<base::UniqueFd> inputs = {}) const;
    /// The whole of a method Import with a(sh)a{sv}. Importing into a version in use takes action_apply, and a caller with
    /// action_prepare alone is held to other versions: request key "only_new".
    int import(Authority& authority, sd_bus_message* call, std::span<const Option> options) const;
    /// The same as start(), but replies with what it would do.
    [[nodiscard]] base::Result<void> plan(sd_bus_message* call, base::Json request,
                                          std::span<const Option> options) const;

  private:
    host::Manager& manager_;
    std::string component_;
};

} // namespace gpuhost::bus
