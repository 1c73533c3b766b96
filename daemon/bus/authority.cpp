// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/authority.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/local_users.hpp"
#include "daemon/base/messages.hpp"
#include "daemon/host/transaction/audit.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

namespace gpuhost::bus {

using base::Errc;
using base::Result;

namespace {

constexpr std::uint32_t allow_interaction = 1;
constexpr std::uint64_t person_us = 120'000'000; // time to type a password
// A stored call keeps its message and its descriptors (at most 16, dbus-daemon's limit) until polkit replies.
constexpr std::ptrdiff_t most_checks_of_user = 4;
constexpr std::size_t most_checks = 32;
constexpr std::size_t largest_kept = 64 * 1024; // bytes of the arguments of one stored call
constexpr std::size_t most_users = 64;
constexpr unsigned most_refusals = 20; // logged refusals of one user in an interval
constexpr std::uint64_t refusal_interval_us = 60'000'000;

bool is_uid_of(uid_t uid, const char* user) {
    const auto entry = base::find_local_user(std::string(user));
    return entry && entry->uid == uid;
}

/// Returns true if the caller is root or `user`: these two need no polkit. Records in `allowed_by` which of
/// them it is.
bool is_allowed(core::Subject& subject, const char* user) {
    if (subject.uid == 0 || subject.uid == ::geteuid())
        subject.allowed_by = "root";
    else if (user != nullptr && is_uid_of(subject.uid, user))
        subject.allowed_by = "user";
    return !subject.allowed_by.empty();
}

tl::unexpected<base::Error> denied(const std::string& why) {
    return base::fail(Errc::AccessDenied, why, "Repeat the request as root.");
}

Result<void> verdict(sd_bus_message* reply) {
    if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_SERVICE_UNKNOWN) > 0 ||
        sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NAME_HAS_NO_OWNER) > 0)
        return denied("polkit is not available: only root may do this");
    if (sd_bus_message_is_method_error(reply, nullptr) > 0)
        return denied(host::bus_error("asking polkit", sd_bus_message_get_error(reply)).message);
    int authorized = 0;
    int challenge = 0;
    int r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
    if (r >= 0)
        r = sd_bus_message_read(reply, "bb", &authorized, &challenge);
    if (r < 0)
        return denied("polkit's reply is not valid");
    if (!authorized)
        return denied(challenge ? "this needs a password" : "polkit does not allow it");
    return {};
}

/// Skips the next argument, which is not a container, and returns its size in bytes. The size is at least 8,
/// so that empty strings count.
Result<std::size_t> basic_size(sd_bus_message* call, char type) {
    if (std::strchr("sog", type) == nullptr) {
        GPUHOST_CHECK(check(sd_bus_message_skip(call, nullptr), "arguments"));
        return 8;
    }
    const char* text = nullptr;
    GPUHOST_CHECK(check(sd_bus_message_read_basic(call, type, &text), "arguments"));
    return 8 + std::strlen(text);
}

/// Subtracts the size of all remaining arguments of the current container from `left`. Fails if they are
/// larger than `left`. sd-bus does not report the size of a message.
Result<void> measure(sd_bus_message* call, std::size_t& left) {
    char type = 0;
    const char* contents = nullptr;
    int r = 0;
    while ((r = sd_bus_message_peek_type(call, &type, &contents)) > 0) {
        std::size_t size = 8;
        if (contents != nullptr) {
            GPUHOST_CHECK(check(sd_bus_message_enter_container(call, type, contents), "arguments"));
            GPUHOST_CHECK(measure(call, left));
            GPUHOST_CHECK(check(sd_bus_message_exit_container(call), "arguments"));
        } else {
            GPUHOST_TRY(basic, basic_size(call, type));
            size = basic;
        }
        if (size > left)
            return base::fail(Errc::InvalidArgument,
                              "arguments: larger than " + std::to_string(largest_kept / 1024) + " KiB");
        left -= size;
    }
    return check(r, "arguments");
}

Result<void> check_size(sd_bus_message* call) {
    std::size_t left = largest_kept;
    GPUHOST_CHECK(measure(call, left));
    return check(sd_bus_message_rewind(call, 1), "arguments");
}

} // namespace

Result<void> Authority::may_wait(sd_bus_message* call, uid_t uid) const {
    const std::string ask_later = "Try again after polkit has answered them.";
    const auto of_user =
        std::count_if(checks_.begin(), checks_.end(), [&](const Check& it) { return it.subject.uid == uid; });
    if (of_user >= most_checks_of_user)
        return base::fail(Errc::Busy, std::to_string(of_user) + " requests of this user wait for polkit",
                          ask_later);
    if (checks_.size() >= most_checks)
        return base::fail(Errc::Busy, std::to_string(checks_.size()) + " requests wait for polkit",
                          ask_later);
    return check_size(call);
}

int Authority::require_user(sd_bus_message* call, const char* user, const Allowed& then) {
    return answer(call, [&](sd_bus_message*) -> Result<void> {
        GPUHOST_TRY(subject, callers_.subject_of(call));
        if (!is_allowed(subject, user))
            return refuse(
                subject,
                {Errc::AccessDenied, "only root and the user '" + std::string(user) + "' may do this", {}});
        return then(call, subject);
    });
}

int Authority::require(sd_bus_message* call, const char* action, Allowed then, const char* user) {
    return answer(call, [&](sd_bus_message*) -> Result<void> {
        GPUHOST_TRY(subject, callers_.subject_of(call));
        subject.action = action;
        if (is_allowed(subject, user))
            return then(call, subject);
        if (const auto may = may_wait(call, subject.uid); !may)
            return refuse(subject, may.error());
        checks_.push_front(
            {this, host::Message(sd_bus_message_ref(call)), subject, std::move(then), nullptr, {}});
        checks_.front().self = checks_.begin();
        auto asked = ask(checks_.front(), action);
        if (asked)
            return asked;
        checks_.pop_front();
        return refuse(subject, asked.error());
    });
}

/// Logs a refusal and fails with `why`. The number of log lines is limited for each user, so that one user's
/// refusals hide neither other events nor other users' refusals.
Result<void> Authority::refuse(const core::Subject& subject, const base::Error& why) {
    const bool is_new = refusals_.count(subject.uid) == 0;
    const uid_t counted = is_new && refusals_.size() >= most_users ? static_cast<uid_t>(-1) : subject.uid;
    base::RateLimit& limit = refusals_.try_emplace(counted, most_refusals, refusal_interval_us).first->second;
    if (const auto more = limit.admit(base::monotonic_us()))
        host::log_asked(base::log::Level::Warning, base::message::access_refused, subject, 0,
                        "refused " + host::who(subject) + " of uid " + std::to_string(subject.uid) + ": " +
                            why.message +
                            (*more == 0 ? "" : ", after " + std::to_string(*more) + " similar ones"));
    return base::fail(why);
}

Result<void> Authority::ask(Check& check, const char* action) {
    host::Message message;
    int r = sd_bus_message_new_method_call(bus_, base::OutPtr(message), "org.freedesktop.PolicyKit1",
                                           "/org/freedesktop/PolicyKit1/Authority",
                                           "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
    const bool interactive = sd_bus_message_get_allow_interactive_authorization(check.call.get()) > 0;
    if (r >= 0)
        r = sd_bus_message_append(message.get(), "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                                  sd_bus_message_get_sender(check.call.get()), action, 0,
                                  interactive ? allow_interaction : 0, "");
    if (r >= 0)
        r = sd_bus_call_async(bus_, base::OutPtr(check.slot), message.get(), on_reply, &check, person_us);
    if (r < 0)
        return denied("can't ask polkit: " + base::errno_error("CheckAuthorization", -r).message);
    return {};
}

int Authority::on_reply(sd_bus_message* reply, void* userdata, sd_bus_error*) {
    auto* check = static_cast<Check*>(userdata);
    // guard() would only log the exception, and the caller would wait for a reply. If the daemon exits, the
    // bus sends an error instead.
    return host::guard_or_exit(sd_bus_get_event(check->authority->bus_), "polkit",
                               [=] { check->authority->decide(*check, reply); });
}

void Authority::decide(Check& check, sd_bus_message* reply) {
    const auto allowed = verdict(reply);
    const auto ended = std::move(check);
    checks_.erase(ended.self);
    (void)answer(ended.call.get(), [&](sd_bus_message* call) -> Result<void> {
        if (!allowed)
            return refuse(ended.subject, allowed.error());
        core::Subject subject = ended.subject;
        subject.allowed_by = "polkit";
        return ended.then(call, subject);
    });
}

} // namespace gpuhost::bus
