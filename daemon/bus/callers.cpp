// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/callers.hpp"

#include "daemon/base/local_users.hpp"
#include "daemon/base/root.hpp"

#include <algorithm>
#include <cctype>

namespace gpuhost::bus {

using base::Errc;
using base::Result;

namespace {

using Credentials = base::CHandle<sd_bus_creds, sd_bus_creds_unref>;

constexpr std::uint64_t known_of_direct = SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID; // known without reading /proc
constexpr std::uint64_t known_on_bus = known_of_direct | SD_BUS_CREDS_COMM | SD_BUS_CREDS_UNIT |
                                       SD_BUS_CREDS_AUDIT_LOGIN_UID | SD_BUS_CREDS_UNIQUE_NAME |
                                       SD_BUS_CREDS_AUGMENT;

int query(sd_bus* lookup, sd_bus_message* call, Credentials& credentials) {
    const int r = sd_bus_get_name_creds(lookup, sd_bus_message_get_sender(call), known_on_bus,
                                        base::OutPtr(credentials));
    while (sd_bus_process(lookup, nullptr) > 0) // drops what others sent to this connection
        continue;
    return r;
}

/// Replaces control characters with '?': a caller chooses its process name, which must not break a log line.
std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    return text;
}

std::string text_of(sd_bus_creds* credentials, int (*get)(sd_bus_creds*, const char**)) {
    const char* text = nullptr;
    return get(credentials, &text) < 0 || text == nullptr ? std::string() : one_line(text);
}

/// Returns the process name of a client that is connected without a bus.
std::string command_of(pid_t pid) {
    const auto host = base::Root::open("/");
    return host ? one_line(host->read_line("/proc/" + std::to_string(pid) + "/comm").value_or("")) : "";
}

std::string user_name(uid_t uid) {
    const auto user = base::find_local_user(uid);
    return user ? user->name : std::string();
}

} // namespace

Result<Callers> Callers::create(sd_bus* bus) {
    Callers callers;
    if (sd_bus_is_bus_client(bus) <= 0)
        return callers;
    if (const int r = sd_bus_open_system_with_description(base::OutPtr(callers.lookup_), "gpuhostd-callers");
        r < 0)
        return base::fail_errno("connecting to the system bus", -r);
    // Completes the handshake: dbus-daemon closes a connection that does not send Hello within some seconds.
    const char* name = nullptr;
    if (const int r = sd_bus_get_unique_name(callers.lookup_.get(), &name); r < 0)
        return base::fail_errno("connecting to the system bus", -r);
    return callers;
}

Result<core::Subject> Callers::subject_of(sd_bus_message* call) const {
    Credentials credentials;
    const int r = lookup_ ? query(lookup_.get(), call, credentials)
                          : sd_bus_query_sender_creds(call, known_of_direct, base::OutPtr(credentials));
    core::Subject subject;
    uid_t uid = 0;
    if (r < 0 || sd_bus_creds_get_euid(credentials.get(), &uid) < 0)
        return base::fail(Errc::AccessDenied, "can't identify the caller");
    subject.uid = uid;
    pid_t pid = 0;
    if (sd_bus_creds_get_pid(credentials.get(), &pid) >= 0)
        subject.pid = pid;
    if (sd_bus_creds_get_audit_login_uid(credentials.get(), &uid) >= 0)
        subject.login_uid = uid;
    subject.user = user_name(subject.uid);
    subject.login_user = subject.login_uid ? user_name(*subject.login_uid) : "";
    subject.command = lookup_ ? text_of(credentials.get(), sd_bus_creds_get_comm) : command_of(subject.pid);
    subject.unit = text_of(credentials.get(), sd_bus_creds_get_unit);
    subject.bus_name = text_of(credentials.get(), sd_bus_creds_get_unique_name);
    return subject;
}

} // namespace gpuhost::bus
