// SPDX-License-Identifier: Apache-2.0
// org.gpuhost1 as a test plays it, so that gpuhostctl meets every outcome and every moment of an operation at
// will.
//
// Lines on stdin, words parted by tabs:
//   answer METHOD TEXT        METHOD ("Manager.Describe", "Driver.List", …) that returns JSON, or the property of
//                             this name ("Driver.LoadedVersion"), returns this
//   start ID                  what all others return from now on: the operation that they start
//   fail METHOD NAME TEXT     METHOD fails ("\n" in TEXT is a new line); NAME empty: no longer
//   operation JSON            this operation is now so; its PropertiesChanged is emitted
//   ready 0|1                 Manager.Ready, with PropertiesChanged
//   end                       leaves the bus
// Each method call is printed as "METHOD ARGUMENTS…"; "ready" once the name is owned, "done" after each line
// of stdin.
#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include <poll.h>
#include <systemd/sd-bus.h>

namespace gpuhost {
namespace {

using base::Json;
using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;

struct Failure {
    std::string name;
    std::string text;
};

struct Service {
    BusPtr bus;
    std::map<std::string, std::string> answers;
    std::map<std::string, Failure> failures;
    std::map<std::uint64_t, Json> operations;
    std::uint64_t next = 0;
    bool ready = true;
};

void check(int r, const char* what) {
    if (r >= 0)
        return;
    std::fprintf(stderr, "fake service: %s: %s\n", what, std::strerror(-r));
    std::exit(1);
}

std::string path_of(std::uint64_t id) {
    return "/org/gpuhost1/operation/_" + std::to_string(id);
}

/// The arguments of a call in one line: strings, arrays of them, options, files by name and first bytes.
std::string arguments_of(sd_bus_message* m) {
    std::string out;
    char type = 0;
    const char* contents = nullptr;
    while (sd_bus_message_peek_type(m, &type, &contents) > 0) {
        const std::string inner = contents == nullptr ? "" : contents;
        if (type == 's') {
            const char* text = nullptr;
            check(sd_bus_message_read(m, "s", &text), "reading");
            out += std::string(" ") + text;
        } else if (type == 't') {
            std::uint64_t number = 0;
            check(sd_bus_message_read(m, "t", &number), "reading");
            out += " " + std::to_string(number);
        } else if (type == 'b') {
            int flag = 0;
            check(sd_bus_message_read(m, "b", &flag), "reading");
            out += flag != 0 ? " true" : " false";
        } else if (type == 'h') {
            int fd = -1;
            check(sd_bus_message_read(m, "h", &fd), "reading");
            out += "=" + base::read_all(fd, 100, "file").value_or("unreadable");
        } else {
            check(sd_bus_message_enter_container(m, type, contents), "entering");
            out += arguments_of(m);
            check(sd_bus_message_exit_container(m), "leaving");
        }
    }
    return out;
}

int list_operations(const Service& service, sd_bus_message* call) {
    sd_bus_message* reply = nullptr;
    check(sd_bus_message_new_method_return(call, &reply), "reply");
    check(sd_bus_message_open_container(reply, 'a', "(tssstto)"), "reply");
    for (const auto& [id, o] : service.operations)
        check(sd_bus_message_append(
                  reply, "(tssstto)", id, base::string_or(o, "kind", "").c_str(),
                  base::string_or(o, "state", "").c_str(), base::string_or(o, "title", "").c_str(),
                  static_cast<std::uint64_t>(base::int_or(o, "began_us", 0)),
                  static_cast<std::uint64_t>(base::int_or(o, "ended_us", 0)), path_of(id).c_str()),
              "reply");
    check(sd_bus_message_close_container(reply), "reply");
    const int r = sd_bus_send(nullptr, reply, nullptr);
    sd_bus_message_unref(reply);
    return r;
}

int operation_call(const Service& service, sd_bus_message* call, const std::string& method) {
    const std::string path = sd_bus_message_get_path(call);
    const auto id = base::parse_uint(path.substr(path.rfind('_') + 1)).value_or(0);
    const auto operation = service.operations.find(id);
    if (operation == service.operations.end())
        return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_OBJECT, "Unknown object '%s'.",
                                          path.c_str());
    if (method == "Operation.Cancel")
        return sd_bus_reply_method_return(call, nullptr);
    return sd_bus_reply_method_return(call, "s", base::dump(operation->second).c_str());
}

int reply_property(const Service& service, sd_bus_message* call) {
    const char *interface = "", *name = "";
    check(sd_bus_message_read(call, "ss", &interface, &name), "reading a property's name");
    const std::string of(interface);
    if (std::string_view(name) == "Ready")
        return sd_bus_reply_method_return(call, "v", "b", static_cast<int>(service.ready));
    const auto answer = service.answers.find(of.substr(of.rfind('.') + 1) + "." + name);
    return sd_bus_reply_method_return(call, "v", "s",
                                      answer == service.answers.end() ? "" : answer->second.c_str());
}

int on_call(sd_bus_message* call, void* userdata, sd_bus_error* /*error*/) {
    const Service& service = *static_cast<Service*>(userdata);
    const std::string interface = sd_bus_message_get_interface(call);
    const std::string method =
        interface.substr(interface.rfind('.') + 1) + "." + sd_bus_message_get_member(call);
    if (method == "Properties.Get" && service.failures.count(method) == 0)
        return reply_property(service, call);
    std::cout << method << arguments_of(call) << std::endl;
    if (const auto failure = service.failures.find(method); failure != service.failures.end())
        return sd_bus_reply_method_errorf(call, failure->second.name.c_str(), "%s",
                                          failure->second.text.c_str());
    if (method == "Manager.ListOperations")
        return list_operations(service, call);
    if (method == "Manager.Reload")
        return sd_bus_reply_method_return(call, "as", 1,
                                          "/etc/gpuhost/gpuhostd.conf:3: unknown key 'X', ignoring");
    if (interface == "org.gpuhost1.Operation")
        return operation_call(service, call, method);
    if (const auto answer = service.answers.find(method); answer != service.answers.end())
        return sd_bus_reply_method_return(call, "s", answer->second.c_str());
    return sd_bus_reply_method_return(call, "to", service.next,
                                      service.next == 0 ? "/" : path_of(service.next).c_str());
}

void set_operation(Service& service, const std::string& text) {
    const Json operation = base::parse_json(text, "operation").value_or(Json());
    const auto id = static_cast<std::uint64_t>(base::int_or(operation, "id", 0));
    service.operations[id] = operation;
    check(sd_bus_emit_signal(service.bus.get(), path_of(id).c_str(), "org.freedesktop.DBus.Properties",
                             "PropertiesChanged", "sa{sv}as", "org.gpuhost1.Operation", 1, "State", "s",
                             base::string_or(operation, "state", "").c_str(), 0),
          "PropertiesChanged");
}

void set_ready(Service& service, bool ready) {
    service.ready = ready;
    check(sd_bus_emit_signal(service.bus.get(), "/org/gpuhost1", "org.freedesktop.DBus.Properties",
                             "PropertiesChanged", "sa{sv}as", "org.gpuhost1.Manager", 1, "Ready", "b",
                             static_cast<int>(ready), 0),
          "PropertiesChanged");
}

std::string unescaped(std::string text) {
    for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n"))
        text.replace(at, 2, "\n");
    return text;
}

void obey(Service& service, const std::string& line) {
    auto words = base::split(line, '\t');
    words.resize(4);
    if (words[0] == "answer")
        service.answers[words[1]] = words[2];
    else if (words[0] == "start")
        service.next = base::parse_uint(words[1]).value_or(0);
    else if (words[0] == "fail" && words[2].empty())
        service.failures.erase(words[1]);
    else if (words[0] == "fail")
        service.failures[words[1]] = {words[2], unescaped(words[3])};
    else if (words[0] == "operation")
        set_operation(service, words[1]);
    else if (words[0] == "ready")
        set_ready(service, words[1] == "1");
    else if (words[0] == "own")
        check(sd_bus_request_name(service.bus.get(), "org.gpuhost1", 0), "name");
    else
        check(-EINVAL, line.c_str());
    std::cout << "done" << std::endl;
}

int run() {
    Service service;
    check(sd_bus_open_system(base::OutPtr(service.bus)), "bus");
    check(sd_bus_add_fallback(service.bus.get(), nullptr, "/org/gpuhost1", on_call, &service), "object");
    for (;;) {
        while (sd_bus_process(service.bus.get(), nullptr) > 0) {
        }
        pollfd polled[] = {{sd_bus_get_fd(service.bus.get()), POLLIN, 0}, {0, POLLIN, 0}};
        if (std::cin.rdbuf()->in_avail() <= 0)
            (void)::poll(polled, 2, -1);
        std::string line;
        if (polled[1].revents == 0 && std::cin.rdbuf()->in_avail() <= 0)
            continue;
        if (!std::getline(std::cin, line))
            return 0;
        obey(service, line);
    }
}

} // namespace
} // namespace gpuhost

int main() {
    std::ios::sync_with_stdio(false);
    return gpuhost::run();
}
