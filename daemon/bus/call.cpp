// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/call.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cstring>

namespace gpuhost::bus {

namespace {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;

// Any user may call the daemon. These limits keep large arguments from blocking its event loop.
constexpr std::size_t longest_string = 4096; ///< bytes
constexpr std::size_t most_strings = 256;

int reply_error(sd_bus_message* call, const Error& error) {
    const std::string text = error.hint.empty() ? error.message : error.message + "\n" + error.hint;
    const std::string name(base::info(error.code).dbus_name);
    return sd_bus_reply_method_errorf(call, name.c_str(), "%s", text.c_str());
}

Result<Json> read_option(sd_bus_message* call, const Option& option) {
    const std::string type(1, option.type);
    const std::string wrong = "option '" + std::string(option.name) + "' is not of type '" + type + "'";
    if (sd_bus_message_enter_container(call, 'v', type.c_str()) <= 0)
        return base::fail(Errc::InvalidArgument, wrong);
    Json value;
    int r = 0;
    if (option.type == 's') {
        GPUHOST_TRY(text, read_string(call));
        value = text;
    } else if (option.type == 't') {
        std::uint64_t number = 0;
        if ((r = sd_bus_message_read(call, "t", &number)) >= 0)
            value = number;
    } else {
        int flag = 0;
        if ((r = sd_bus_message_read(call, "b", &flag)) >= 0)
            value = flag != 0;
    }
    if (r >= 0)
        r = sd_bus_message_exit_container(call);
    if (r < 0)
        return base::fail(Errc::InvalidArgument, wrong);
    return value;
}

} // namespace

std::string operation_path(std::uint64_t id) {
    return id == 0 ? "/" : std::string(operations_path) + "/_" + std::to_string(id);
}

std::uint64_t operation_of(std::string_view path) {
    const std::string prefix = std::string(operations_path) + "/_";
    if (!base::starts_with(path, prefix))
        return 0;
    return base::parse_uint(path.substr(prefix.size())).value_or(0);
}

int answer(sd_bus_message* call, const Answer& answer) noexcept {
    return host::guard("answering a call", [&] {
        const auto answered = answer(call);
        return answered ? 1 : reply_error(call, answered.error());
    });
}

Result<void> check(int result, std::string_view what) {
    if (result < 0)
        return base::fail(Errc::InvalidArgument, base::errno_error(what, -result).message);
    return {};
}

int append(sd_bus_message* reply, const std::string& value) {
    return sd_bus_message_append(reply, "s", value.c_str());
}
int append(sd_bus_message* reply, std::string_view value) {
    return append(reply, std::string(value));
}
int append(sd_bus_message* reply, bool value) {
    return sd_bus_message_append(reply, "b", static_cast<int>(value));
}
int append(sd_bus_message* reply, double value) {
    return sd_bus_message_append(reply, "d", value);
}
int append(sd_bus_message* reply, std::uint64_t value) {
    return sd_bus_message_append(reply, "t", value);
}

Result<Json> read_options(sd_bus_message* call, std::span<const Option> known) {
    Json options = Json::object();
    GPUHOST_CHECK(check(sd_bus_message_enter_container(call, 'a', "{sv}"), "options"));
    while (sd_bus_message_enter_container(call, 'e', "sv") > 0) {
        GPUHOST_TRY(name, read_string(call));
        const auto option = std::find_if(known.begin(), known.end(),
                                         [&name](const Option& candidate) { return candidate.name == name; });
        if (option == known.end())
            return base::fail(Errc::InvalidArgument, "unknown option '" + name + "'");
        if (options.contains(name))
            return base::fail(Errc::InvalidArgument, "option '" + name + "' is given twice");
        GPUHOST_TRY(value, read_option(call, *option));
        options[name] = std::move(value);
        GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "options"));
    }
    GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "options"));
    return options;
}

Result<std::string> read_string(sd_bus_message* call) {
    const char* text = nullptr;
    GPUHOST_CHECK(check(sd_bus_message_read(call, "s", &text), "arguments"));
    if (std::strlen(text) > longest_string)
        return base::fail(Errc::InvalidArgument,
                          "string argument: longer than " + std::to_string(longest_string) + " bytes");
    return std::string(text);
}

Result<std::vector<std::string>> read_strings(sd_bus_message* call) {
    std::vector<std::string> strings;
    GPUHOST_CHECK(check(sd_bus_message_enter_container(call, 'a', "s"), "arguments"));
    while (sd_bus_message_at_end(call, 0) == 0) {
        if (strings.size() == most_strings)
            return base::fail(Errc::InvalidArgument,
                              "list argument: more than " + std::to_string(most_strings) + " strings");
        GPUHOST_TRY(text, read_string(call));
        strings.push_back(std::move(text));
    }
    GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "arguments"));
    return strings;
}

Result<void> reply_json(sd_bus_message* call, const Json& value) {
    return check(sd_bus_reply_method_return(call, "s", base::dump(value).c_str()), "reply");
}

Result<void> reply_operation(sd_bus_message* call, std::uint64_t id) {
    return check(sd_bus_reply_method_return(call, "to", id, operation_path(id).c_str()), "reply");
}

} // namespace gpuhost::bus
