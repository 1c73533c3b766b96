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

/// A request to a component. It is a method of the component's object, and its name is the argument `request`
/// of the object's method Plan.
struct Request {
    std::string_view name; ///< the method's name in lower case
    const char* action;    ///< the action that polkit must allow
    std::span<const Option> options;
    std::string_view first{};   ///< member for the first argument; empty: all arguments are in `rest`
    std::string_view rest{};    ///< member for the list of further arguments; empty: none
    std::size_t least = 0;      ///< the smallest number of arguments
    const char* user = nullptr; ///< a user who needs no polkit, like root
};

class Requests {
  public:
    /// `manager` and `known` must outlive this object.
    Requests(host::Manager& manager, std::string_view component, std::span<const Request> known)
        : manager_(manager), component_(component), known_(known) {}

    /// Returns what the component observes, for property getters. On an error it returns an empty object,
    /// since a property can't report errors; the methods List and Describe report them.
    [[nodiscard]] base::Json observed() const;
    /// Reads the options (the last argument of the call) into `request`, starts the operation, and replies
    /// with its id and object path.
    [[nodiscard]] base::Result<void> start(sd_bus_message* call, const core::Subject& subject,
                                           base::Json request, std::span<const Option> options,
                                           std::vector<base::UniqueFd> inputs = {}) const;
    /// Implements the methods of known requests. Their arguments are s, as or sas, and then a{sv}.
    int run(Authority& authority, sd_bus_message* call) const;
    /// Implements a method Import with the arguments a(sh)a{sv}. An import into a version in use requires
    /// action_apply, any other import action_prepare. If the caller has only action_prepare, the request gets
    /// the key "only_new", which refuses versions in use.
    int import(Authority& authority, sd_bus_message* call, std::span<const Option> options) const;
    /// Implements Plan, with the arguments sasa{sv}: replies with the plan of a request, and starts nothing.
    /// An empty first argument counts as missing. Other empty arguments are refused, as in run().
    int plan(sd_bus_message* call) const;

  private:
    [[nodiscard]] const Request* find(std::string_view name) const;

    host::Manager& manager_;
    std::string component_;
    std::span<const Request> known_;
};

} // namespace gpuhost::bus
