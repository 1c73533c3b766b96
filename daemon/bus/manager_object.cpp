// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/manager_object.hpp"

#include "config.h"
#include "daemon/base/log.hpp"
#include "daemon/host/transaction/audit.hpp"

#include <array>

namespace gpuhost::bus {

using base::Errc;
using base::Json;
using base::Result;

namespace {
constexpr std::array plan_options{Option{"only", 's'}};
constexpr std::array apply_options{Option{"dry-run", 'b'}, Option{"only", 's'}};
} // namespace

const sd_bus_vtable ManagerObject::vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Version", "s", property<&ManagerObject::version>, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("KernelRelease", "s", property<&ManagerObject::kernel>, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("State", "s", property<&ManagerObject::state>, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("Ready", "b", property<&ManagerObject::ready>, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_METHOD_WITH_NAMES("Describe", "", , "s", SD_BUS_PARAM(json), method<&ManagerObject::describe>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Plan", "a{sv}", SD_BUS_PARAM(options), "s", SD_BUS_PARAM(json),
                             method<&ManagerObject::plan>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Apply", "a{sv}", SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation), method<&ManagerObject::apply>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("ListOperations", "", , "a(tssstto)", SD_BUS_PARAM(operations),
                             method<&ManagerObject::list_operations>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("GetOperation", "t", SD_BUS_PARAM(id), "o", SD_BUS_PARAM(operation),
                             method<&ManagerObject::get_operation>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Reload", "", , "as", SD_BUS_PARAM(problems), method<&ManagerObject::reload>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Reboot", "a{sv}", SD_BUS_PARAM(options), "", , method<&ManagerObject::reboot>,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("GetKubeletCredentials", "", , "s", SD_BUS_PARAM(json),
                             method<&ManagerObject::get_kubelet_credentials>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("SetDesiredState", "sa{sv}", SD_BUS_PARAM(json) SD_BUS_PARAM(options), "to",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation),
                             method<&ManagerObject::set_desired_state>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("RequestUpgrade", "s", SD_BUS_PARAM(version), "s", SD_BUS_PARAM(json),
                             method<&ManagerObject::request_upgrade>, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL_WITH_NAMES("OperationAdded", "to", SD_BUS_PARAM(id) SD_BUS_PARAM(operation), 0),
    SD_BUS_SIGNAL_WITH_NAMES("OperationEnded", "tos",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(operation) SD_BUS_PARAM(outcome), 0),
    SD_BUS_VTABLE_END,
};

const Interface ManagerObject::interface { manager_path, "org.gpuhost1.Manager", vtable };

std::string ManagerObject::version() const {
    return PACKAGE_VERSION;
}

int ManagerObject::describe(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) { return reply_json(m, manager_.describe()); });
}

int ManagerObject::plan(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        GPUHOST_TRY(options, read_options(m, plan_options));
        GPUHOST_TRY(wanted, manager_.plan(Json::object(), base::string_or(options, "only", "")));
        return reply_json(m, core::to_json(wanted));
    });
}

int ManagerObject::apply(sd_bus_message* call) {
    return authority_.require(call, action_apply,
                              [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                  GPUHOST_TRY(options, read_options(m, apply_options));
                                  GPUHOST_TRY(id, manager_.apply(Json::object(), subject, {},
                                                                 base::bool_or(options, "dry-run", false),
                                                                 base::string_or(options, "only", "")));
                                  return reply_operation(m, id);
                              });
}

int ManagerObject::list_operations(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        host::Message reply;
        int r = sd_bus_message_new_method_return(m, base::OutPtr(reply));
        if (r >= 0)
            r = sd_bus_message_open_container(reply.get(), 'a', "(tssstto)");
        for (const auto* operation : manager_.runner().operations()) {
            const core::Plan& plan = operation->transaction.plan();
            if (r >= 0)
                r = sd_bus_message_append(reply.get(), "(tssstto)", operation->id, plan.kind.c_str(),
                                          std::string(host::state(*operation)).c_str(),
                                          host::title(*operation).c_str(), operation->transaction.began_us(),
                                          operation->transaction.ended_us(),
                                          operation_path(operation->id).c_str());
        }
        if (r >= 0)
            r = sd_bus_message_close_container(reply.get());
        return check(r < 0 ? r : sd_bus_message_send(reply.get()), "reply");
    });
}

int ManagerObject::get_operation(sd_bus_message* call) {
    return answer(call, [this](sd_bus_message* m) -> Result<void> {
        std::uint64_t id = 0;
        GPUHOST_CHECK(check(sd_bus_message_read(m, "t", &id), "arguments"));
        if (!manager_.runner().find(id))
            return base::fail(Errc::NotFound, "operation " + std::to_string(id) + ": not found",
                              "See 'gpuhostctl operation list'.");
        return check(sd_bus_reply_method_return(m, "o", operation_path(id).c_str()), "reply");
    });
}

int ManagerObject::reload(sd_bus_message* call) {
    return authority_.require(call, action_manage,
                              [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                  host::log_asked(base::log::Level::Info, {}, subject, 0,
                                                  host::who(subject) + " reloads the configuration");
                                  host::Message reply;
                                  int r = sd_bus_message_new_method_return(m, base::OutPtr(reply));
                                  if (r >= 0)
                                      r = sd_bus_message_open_container(reply.get(), 'a', "s");
                                  for (const auto& problem : manager_.reload())
                                      if (r >= 0)
                                          r = sd_bus_message_append(reply.get(), "s", problem.c_str());
                                  if (r >= 0)
                                      r = sd_bus_message_close_container(reply.get());
                                  return check(r < 0 ? r : sd_bus_message_send(reply.get()), "reply");
                              });
}

/// Reboots the host, but only in the state reboot-required: a user who may change drivers must not be able to
/// reboot the host at will.
int ManagerObject::reboot(sd_bus_message* call) {
    const auto then = [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_CHECK(read_options(m, {}));
        if (manager_.state() != "reboot-required")
            return base::fail(Errc::Refused, "no component of this host requires a reboot",
                              "Reboot manually: systemctl reboot");
        host::log_asked(base::log::Level::Warning, {}, subject, 0,
                        host::who(subject) + " reboots this host, as the driver requires");
        const int r = sd_bus_call_method_async(sd_bus_message_get_bus(m), nullptr, "org.freedesktop.login1",
                                               "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
                                               "Reboot", on_reboot, nullptr, "b", 0);
        GPUHOST_CHECK(check(r, "asking for a reboot"));
        return check(sd_bus_reply_method_return(m, nullptr), "reply");
    };
    return authority_.require(call, action_apply, then, cluster_user);
}

int ManagerObject::on_reboot(sd_bus_message* reply, void*, sd_bus_error*) {
    if (sd_bus_message_is_method_error(reply, nullptr) > 0)
        base::log::error(host::bus_error("rebooting", sd_bus_message_get_error(reply)).message);
    return 0;
}

int ManagerObject::get_kubelet_credentials(sd_bus_message* call) {
    return authority_.require_user(call, cluster_user,
                                   [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                       GPUHOST_TRY(lent, manager_.kubelet_files());
                                       if (!base::member(lent, "files").empty())
                                           host::log_asked(base::log::Level::Info, {}, subject, 0,
                                                           "passed the kubelet's credentials to " +
                                                               host::who(subject) + ", for moving pods");
                                       return reply_json(m, lent);
                                   });
}

int ManagerObject::set_desired_state(sd_bus_message* call) {
    return authority_.require_user(call, cluster_user,
                                   [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
                                       GPUHOST_TRY(text, read_string(m));
                                       GPUHOST_CHECK(read_options(m, {}));
                                       GPUHOST_TRY(json, base::parse_json(text, "cluster's desired state"));
                                       GPUHOST_TRY(desired, core::cluster_desired_from_json(json));
                                       GPUHOST_TRY(id, manager_.set_desired_state(desired, subject));
                                       GPUHOST_CHECK(follow_publisher(m, !desired.driver.empty()));
                                       return reply_operation(m, id);
                                   });
}

/// Tracks the connection of the caller (gpuhost-cluster) if its desired state names a driver. Only the
/// caller's process can start the upgrade to this driver. on_publisher_gone() therefore withdraws the driver
/// when the connection closes.
Result<void> ManagerObject::follow_publisher(sd_bus_message* call, bool wants_driver) {
    publisher_.reset();
    if (!wants_driver)
        return {};
    int r = sd_bus_track_new(sd_bus_message_get_bus(call), base::OutPtr(publisher_), on_publisher_gone, this);
    if (r >= 0)
        r = sd_bus_track_add_sender(publisher_.get(), call);
    return check(r, "tracking the publisher of the desired state");
}

int ManagerObject::on_publisher_gone(sd_bus_track*, void* userdata) {
    return host::guard("cluster's desired state", [&] {
        static_cast<ManagerObject*>(userdata)->manager_.withdraw_cluster_driver();
        return 1; // for 0, sd-bus would call this function again
    });
}

/// Implements RequestUpgrade: an administrator asks the cluster for a driver version. An empty version
/// withdraws the request. gpuhost-cluster sends an empty version after it has accepted the request.
int ManagerObject::request_upgrade(sd_bus_message* call) {
    const auto then = [this](sd_bus_message* m, const core::Subject& subject) -> Result<void> {
        GPUHOST_TRY(version, read_string(m));
        GPUHOST_CHECK(manager_.request_upgrade(version));
        host::log_asked(base::log::Level::Info, {}, subject, 0,
                        host::who(subject) +
                            (version.empty()
                                 ? " no longer asks the cluster to upgrade this host"
                                 : " asks the cluster to upgrade this host to driver " + version));
        return reply_json(m, Json{{"upgrade_requested", version}});
    };
    return authority_.require(call, action_apply, then, cluster_user);
}

} // namespace gpuhost::bus
