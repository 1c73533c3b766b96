// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/requests.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include <fcntl.h>

namespace gpuhost::bus {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// What dbus-daemon lets through in one message unless its configuration says otherwise.
constexpr std::size_t most_files = 16;

} // namespace

Result<Files> read_files(sd_bus_message* call) {
    Files files;
    GPUHOST_CHECK(check(sd_bus_message_enter_container(call, 'a', "(sh)"), "files"));
    while (sd_bus_message_enter_container(call, 'r', "sh") > 0) {
        if (files.names.size() == most_files)
            return base::fail(Errc::InvalidArgument,
                              "more than " + std::to_string(most_files) + " files at once");
        GPUHOST_TRY(name, read_string(call));
        // They come back in titles, logs and hints, where a line is a line.
        if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }))
            return base::fail(Errc::InvalidArgument, "a file's name has control characters");
        int fd = -1;
        GPUHOST_CHECK(check(sd_bus_message_read(call, "h", &fd), "files"));
        base::UniqueFd owned(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
        if (!owned)
            return base::fail_errno("taking '" + name + "'", errno);
        files.names.push_back(name);
        files.inputs.push_back(std::move(owned));
        GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "files"));
    }
    GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "files"));
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

Result<void> Requests::plan(sd_bus_message* call, Json request, std::span<const Option> known) const {
    GPUHOST_TRY(options, read_options(call, known));
    options.erase(std::string(dry_run_option.name));
    request.update(options);
    GPUHOST_TRY(wanted, manager_.plan(Json{{component_, request}}));
    return reply_json(call, core::to_json(wanted));
}

} // namespace gpuhost::bus
