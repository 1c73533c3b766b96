// SPDX-License-Identifier: Apache-2.0
// Connects sd-bus's C callbacks to methods that return a Result.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/host/bus_connection.hpp"
#include "daemon/host/manager/manager.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhost::bus {

inline constexpr const char* manager_path = "/org/gpuhost1";
inline constexpr const char* operations_path = "/org/gpuhost1/operation";

[[nodiscard]] std::string operation_path(std::uint64_t id);      ///< "/" for 0
[[nodiscard]] std::uint64_t operation_of(std::string_view path); ///< 0 for another path

using Answer = std::function<base::Result<void>(sd_bus_message*)>;

/// Runs `answer`, which sends the reply. An error becomes a D-Bus error reply. The name of this reply is that
/// of the error's code; its text is the message and, on a second line, the hint. Returns the value that the
/// handler returns to sd-bus.
int answer(sd_bus_message* call, const Answer& answer) noexcept;

/// Returns InvalidArgument for a negative result of sd-bus: the arguments do not match the method's
/// signature. `what` begins the message.
[[nodiscard]] base::Result<void> check(int result, std::string_view what);

/// The class of a member function that handles a call. method() turns such a function into a vtable's
/// handler: `method<&DriverObject::list>`.
template <class T>
struct ClassOf;
template <class T>
struct ClassOf<int (T::*)(sd_bus_message*)> {
    using Type = T;
};

template <auto Method>
int method(sd_bus_message* call, void* userdata, sd_bus_error*) noexcept {
    using Object = typename ClassOf<decltype(Method)>::Type;
    return host::guard("method call", [&] { return (static_cast<Object*>(userdata)->*Method)(call); });
}

/// The class of a getter. property() turns such a getter into a vtable's property getter:
/// `property<&ManagerObject::state>`.
template <class T>
struct GetterOf;
template <class T, class V>
struct GetterOf<V (T::*)() const> {
    using Type = T;
};

int append(sd_bus_message* reply, const std::string& value);
int append(sd_bus_message* reply, std::string_view value);
int append(sd_bus_message* reply, bool value);
int append(sd_bus_message* reply, double value);
int append(sd_bus_message* reply, std::uint64_t value);

template <auto Getter>
int property(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* userdata,
             sd_bus_error*) noexcept {
    using Object = typename GetterOf<decltype(Getter)>::Type;
    return host::guard("property",
                       [&] { return append(reply, (static_cast<const Object*>(userdata)->*Getter)()); });
}

struct Option {
    std::string_view name;
    char type; ///< 's', 't' or 'b'
};
/// Reads an argument a{sv} that may contain the options `known`. Fails with InvalidArgument for an unknown
/// option, a wrong type, or an option given twice.
[[nodiscard]] base::Result<base::Json> read_options(sd_bus_message* call, std::span<const Option> known);
[[nodiscard]] base::Result<std::string> read_string(sd_bus_message* call);
[[nodiscard]] base::Result<std::vector<std::string>> read_strings(sd_bus_message* call);

[[nodiscard]] base::Result<void> reply_json(sd_bus_message* call, const base::Json& value);
[[nodiscard]] base::Result<void> reply_operation(sd_bus_message* call, std::uint64_t id);

} // namespace gpuhost::bus
