// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/metrics.hpp"

#include "config.h"
#include "daemon/client/verdict.hpp"
#include "daemon/exporter/add_metrics.hpp"

#include <array>
#include <utility>

namespace gpuhost::exporter {

using base::bool_or;
using base::Json;
using base::list_of;
using base::member;
using base::PrometheusText;
using base::string_or;

namespace {

constexpr std::array host_states{"starting", "idle", "busy", "degraded", "reboot-required"};
constexpr std::array component_states{"ok", "pending", "problem", "undecided", "unknown"};

std::string_view state_of(const Json& component) {
    const Json& plan = member(component, "plan");
    if (member(component, "error").is_object())
        return "unknown";
    if (!list_of(plan, "problems").empty())
        return "problem";
    if (member(plan, "undecided").is_object())
        return "undecided";
    return list_of(plan, "steps").empty() ? "ok" : "pending";
}

void add_programs(PrometheusText& text, const Documents* documents) {
    text.one("gpuhost_up", "Whether gpuhostd answered.", documents != nullptr ? 1 : 0);
    // gpuhost-cluster has this metric too. node_exporter reads both, and wants the same meaning.
    text.family("gpuhost_build_info", "Always 1, with the version of a program.");
    text.sample(1, {{"program", "gpuhost-exporter"}, {"version", PACKAGE_VERSION}});
    if (documents != nullptr)
        text.sample(1, {{"program", "gpuhostd"}, {"version", string_or(documents->host, "version", "")}});
}

void add_host(PrometheusText& text, const Documents& documents) {
    const Json& host = documents.host;
    const bool ok = client::verdict_of(host, documents.operation).ok;
    text.one("gpuhost_ok", "Whether this host is OK by the verdict of 'gpuhostctl status'.", ok ? 1 : 0);
    text.one("gpuhost_ready", "Whether container runtimes and the kubelet may start.",
             bool_or(host, "ready", false) ? 1 : 0);
    text.family("gpuhost_state", "1 for the present state of the host, 0 for each other state.");
    for (const std::string_view state : host_states)
        text.sample(string_or(host, "state", "") == state ? 1 : 0, {{"state", std::string(state)}});
    text.family("gpuhost_component_state",
                "1 for the present state of each component, 0 for each other state.");
    for (const auto& component : member(host, "components").items())
        for (const std::string_view state : component_states)
            text.sample(state_of(component.value()) == state ? 1 : 0,
                        {{"component", component.key()}, {"state", std::string(state)}});
    text.one("gpuhost_configuration_problems", "Errors in the configuration files.",
             count_of(host, "config_problems"));
}

} // namespace

std::string metrics_text(const Documents* documents) {
    PrometheusText text;
    add_programs(text, documents);
    if (documents == nullptr)
        return std::move(text.text);
    add_host(text, *documents);
    add_operations(text, *documents);
    add_driver(text, documents->host, documents->history);
    add_cdi(text, observed(documents->host, "cdi"));
    add_runtimes(text, observed(documents->host, "runtime"));
    add_toolkit(text, observed(documents->host, "toolkit"));
    add_images(text, observed(documents->host, "images"));
    return std::move(text.text);
}

} // namespace gpuhost::exporter
