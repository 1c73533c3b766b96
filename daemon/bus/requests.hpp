// SPDX-License-Identifier: Apache-2.0
// Turns the method calls of the subsystems' D-Bus objects into requests to components.
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/call.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::bus {

inline constexpr Option dry_run_option{"dry-run", 'b'};

/// Files that a client passes in a call: their names and open descriptors, in the same order.
struct Files {
    std::vector<std::string> names;
    std::vector<base::UniqueFd> inputs;
};
/// Reads an a(sh) and duplicates its descriptors.
[[nodiscard]] base::Result<Files> read_files(sd_bus_message* call);

class Requests {
  public:
    /// `manager` must outlive this object.
    Requests(host::Manager& manager, std::string_view component) : manager_(manager), component_(component) {}

    /// Returns what the component observes, for property getters. On an error it returns an empty object,
    /// since a property can't report errors; the methods List and Describe do.
    [[nodiscard]] base::Json observed() const;
    /// Reads the options (the last argument of the call) into `request`, starts the operation, and replies
    /// with its id and object path.
    [[nodiscard]] base::Result<void> start(sd_bus_message* call, const core::Subject& subject,
                                           base::Json request, std::span<const Option> options,
                                           std::vector<base::UniqueFd> inputs = {}) const;
    /// Implements a method Import with the arguments a(sh)a{sv}. An import into a version in use requires
    /// action_apply, any other import action_prepare. A caller with only action_prepare gets the request key
    /// "only_new", which refuses versions in use.
    int import(Authority& authority, sd_bus_message* call, std::span<const Option> options) const;
    /// Reads the options like start(), and replies with the plan of the operation; starts nothing.
    [[nodiscard]] base::Result<void> plan(sd_bus_message* call, base::Json request,
                                          std::span<const Option> options) const;

  private:
    host::Manager& manager_;
    std::string component_;
};

} // namespace gpuhost::bus
