// SPDX-License-Identifier: Apache-2.0
// Shared by the subsystems' objects: their methods are requests to a component.
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/call.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::bus {

inline constexpr Option dry_run_option{"dry-run", 'b'};

/// Descriptors from a call, with their names.
struct Files {
    std::vector<std::string> names;
    std::vector<base::UniqueFd> inputs;
};
/// Reads an a(sh) and duplicates its descriptors.
[[nodiscard]] base::Result<Files> read_files(sd_bus_message* call);

class Requests {
  public:
    /// `component` must outlive this object.
    Requests(host::Manager& manager, std::string_view component) : manager_(manager), component_(component) {}

    /// Returns an empty object on an error, which a property can't report: List and Describe do.
    [[nodiscard]] base::Json observed() const;
    /// Reads the options after a method's arguments, starts the operation, replies with it.
    [[nodiscard]] base::Result<void> start(sd_bus_message* call, const core::Subject& subject,
                                           base::Json request, std::span<const Option> options,
                                           std::vector<base::UniqueFd> inputs = {}) const;
    /// Implements a method Import with a(sh)a{sv}. Importing into a version in use needs action_apply. A
    /// caller with only action_prepare is limited to other versions: request key "only_new".
    int import(Authority& authority, sd_bus_message* call, std::span<const Option> options) const;
    /// Reads the options like start(), and replies with what the operation would do.
    [[nodiscard]] base::Result<void> plan(sd_bus_message* call, base::Json request,
                                          std::span<const Option> options) const;

  private:
    host::Manager& manager_;
    std::string component_;
};

} // namespace gpuhost::bus
