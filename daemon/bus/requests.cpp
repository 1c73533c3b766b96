// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/requests.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include <fcntl.h>

namespace gpuhost::bus {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// The number of descriptors in one message that dbus-daemon allows by default.
constexpr std::size_t most_files = 16;

/// Calls `use` for each file of an argument a(sh). The message keeps the descriptors.
Result<void> each_file(sd_bus_message* call,
                       const std::function<Result<void>(const std::string& name, int fd)>& use) {
    GPUHOST_CHECK(check(sd_bus_message_enter_container(call, 'a', "(sh)"), "files"));
    std::size_t count = 0;
    while (sd_bus_message_enter_container(call, 'r', "sh") > 0) {
        if (++count > most_files)
            return base::fail(Errc::InvalidArgument,
                              "more than " + std::to_string(most_files) + " files in one request");
        GPUHOST_TRY(name, read_string(call));
        // Titles, log lines and hints contain the names, so a name must not break a line.
        if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }))
            return base::fail(Errc::InvalidArgument, "a file name contains control characters");
        int fd = -1;
        GPUHOST_CHECK(check(sd_bus_message_read(call, "h", &fd), "files"));
        GPUHOST_CHECK(use(name, fd));
        GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "files"));
    }
    return check(sd_bus_message_exit_container(call), "files");
}

/// Returns the names in a message whose first argument is an a(sh), and rewinds the message.
Result<std::vector<std::string>> peek_file_names(sd_bus_message* call) {
    std::vector<std::string> names;
    GPUHOST_CHECK(each_file(call, [&names](const std::string& name, int) -> Result<void> {
        names.push_back(name);
        return {};
    }));
    GPUHOST_CHECK(check(sd_bus_message_rewind(call, 1), "files"));
    return names;
}

/// Reads the arguments before the options.
Result<std::vector<std::string>> read_arguments(sd_bus_message* call) {
    const std::string_view types = sd_bus_message_get_signature(call, 1);
    std::vector<std::string> arguments;
    if (base::starts_with(types, "s")) {
        GPUHOST_TRY(first, read_string(call));
        arguments.push_back(std::move(first));
    }
    if (base::starts_with(types, "as") || base::starts_with(types, "sas")) {
        GPUHOST_TRY(rest, read_strings(call));
        arguments.insert(arguments.end(), rest.begin(), rest.end());
    }
    return arguments;
}

Result<Json> to_json(const Request& request, std::vector<std::string> arguments) {
    const std::string name(request.name);
    if (!request.first.empty() && arguments.size() == 1 && arguments.front().empty())
        arguments.clear();
    const std::size_t first = request.first.empty() || arguments.empty() ? 0 : 1;
    if (arguments.size() < request.least)
        return base::fail(Errc::InvalidArgument, "request '" + name + "' needs an argument");
    if (request.rest.empty() && arguments.size() > first)
        return base::fail(Errc::InvalidArgument, "request '" + name + "' has too many arguments: " +
                                                     std::to_string(arguments.size()));
    Json made{{"request", request.name}};
    if (first > 0)
        made[std::string(request.first)] = arguments.front();
    arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(first));
    if (std::any_of(arguments.begin(), arguments.end(), [](const std::string& one) { return one.empty(); }))
        return base::fail(Errc::InvalidArgument, "request '" + name + "' has an empty argument");
    if (!request.rest.empty())
        made[std::string(request.rest)] = std::move(arguments);
    return made;
}

} // namespace

Result<Files> read_files(sd_bus_message* call) {
    Files files;
    GPUHOST_CHECK(each_file(call, [&files](const std::string& name, int fd) -> Result<void> {
        base::UniqueFd owned(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
        if (!owned)
            return base::fail_errno("receiving '" + name + "'", errno);
        files.names.push_back(name);
        files.inputs.push_back(std::move(owned));
        return {};
    }));
    return files;
}

Json Requests::observed() const {
    return manager_.observe(component_).value_or(Json::object());
}

Result<void> Requests::start(sd_bus_message* call, const core::Subject& subject, Json request,
                             std::span<const Option> known, std::vector<base::UniqueFd> inputs) const {
    GPUHOST_TRY(options, read_options(call, known));
    const bool dry_run = base::bool_or(options, dry_run_option.name, false);
    options.erase(std::string(dry_run_option.name));
    request.update(options);
    const Json whole{{component_, std::move(request)}};
    GPUHOST_TRY(id, manager_.apply(whole, subject, std::move(inputs), dry_run));
    return reply_operation(call, id);
}

const Request* Requests::find(std::string_view name) const {
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const Request& request) { return request.name == name; });
    return found == known_.end() ? nullptr : &*found;
}

int Requests::run(Authority& authority, sd_bus_message* call) const {
    std::string name = sd_bus_message_get_member(call);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const Request* const request = find(name);
    if (request == nullptr)
        return -ENOSYS;
    const auto then = [this, request](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_TRY(arguments, read_arguments(m));
        GPUHOST_TRY(made, to_json(*request, std::move(arguments)));
        return start(m, subject, std::move(made), request->options);
    };
    return authority.require(call, request->action, then, request->user);
}

/// An import into a version in use requires action_apply, since the next swap, build or boot uses the new
/// files.
int Requests::import(Authority& authority, sd_bus_message* call, std::span<const Option> options) const {
    const auto names = peek_file_names(call);
    const auto action = [&] {
        const Json request{{"request", "import"}, {"files", *names}, {"only_new", true}};
        const auto plan = manager_.plan(Json{{component_, request}});
        const bool is_refused = plan && std::any_of(plan->problems.begin(), plan->problems.end(),
                                                    [](const core::Problem& problem) {
                                                        return problem.code == Errc::AccessDenied;
                                                    });
        return is_refused ? action_apply : action_prepare;
    };
    const auto then = [this, options](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_TRY(files, read_files(m));
        const bool only_new = subject.allowed_by == "polkit" && subject.action == action_prepare;
        return start(m, subject, {{"request", "import"}, {"files", files.names}, {"only_new", only_new}},
                     options, std::move(files.inputs));
    };
    return authority.require(call, names ? action() : action_prepare, then);
}

int Requests::plan(sd_bus_message* call) const {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(name, read_string(m));
        GPUHOST_TRY(arguments, read_strings(m));
        const Request* const known = find(name);
        if (known == nullptr)
            return base::fail(Errc::InvalidArgument, "unknown request '" + name + "'");
        GPUHOST_TRY(request, to_json(*known, std::move(arguments)));
        GPUHOST_TRY(options, read_options(m, known->options));
        options.erase(std::string(dry_run_option.name));
        request.update(options);
        GPUHOST_TRY(wanted, manager_.plan(Json{{component_, request}}));
        return reply_json(m, core::to_json(wanted));
    });
}

} // namespace gpuhost::bus
