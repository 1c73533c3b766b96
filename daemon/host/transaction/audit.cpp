// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/audit.hpp"

namespace gpuhost::host {

std::string who(const core::Subject& subject) {
    return (subject.user.empty() ? "uid " + std::to_string(subject.uid) : subject.user) + " with " +
           subject.command;
}

void log_asked(base::log::Level level, std::string_view message_id, const core::Subject& subject,
               std::uint64_t operation, std::string_view text) noexcept {
    base::log::event(level, message_id,
                     {{"GPUHOST_OPERATION_ID", operation == 0 ? "" : std::to_string(operation)},
                      {"GPUHOST_ORIGIN", std::string(core::origin(subject))},
                      {"GPUHOST_UID", std::to_string(subject.uid)},
                      {"GPUHOST_USER", subject.user},
                      {"GPUHOST_LOGIN_UID", subject.login_uid ? std::to_string(*subject.login_uid) : ""},
                      {"GPUHOST_LOGIN_USER", subject.login_user},
                      {"GPUHOST_PID", std::to_string(subject.pid)},
                      {"GPUHOST_COMMAND", subject.command},
                      {"GPUHOST_UNIT", subject.unit},
                      {"GPUHOST_BUS_NAME", subject.bus_name},
                      {"GPUHOST_POLKIT_ACTION", subject.action},
                      {"GPUHOST_ALLOWED_BY", subject.allowed_by}},
                     text);
}

} // namespace gpuhost::host
