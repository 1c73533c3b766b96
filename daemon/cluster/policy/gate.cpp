// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/gate.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/endpoint.hpp"
#include "daemon/cluster/policy/unknown_fields.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::member;
using base::Result;
using base::string_or;

namespace {

constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_query = 4096; ///< the query is part of the URL
constexpr std::size_t most_patterns = 64;
constexpr std::size_t longest_shown = 200; ///< bytes of a text from an external source
constexpr std::int64_t longest_interval = 86'400;

tl::unexpected<base::Error> wrong(const std::string& what) {
    return base::fail(Errc::InvalidArgument, what,
                      R"(Write it as: {name: quiet, url: "http://prometheus:9090", alerts: [".*"]})");
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
}

/// Returns the text of the member `key`; empty if the member is absent. If `lines`, the text may have several
/// lines.
Result<std::string> text_of(const Json& value, const char* key, std::size_t longest, bool lines = false) {
    const Json& found = member(value, key);
    if (found.is_null())
        return std::string();
    if (!found.is_string() || found.get_ref<const std::string&>().empty())
        return wrong(std::string(key) + " must be a string");
    auto text = found.get<std::string>();
    const auto is_wrong = [lines](char c) { return is_control(c) && !(lines && (c == '\n' || c == '\t')); };
    if (text.size() > longest || std::any_of(text.begin(), text.end(), is_wrong))
        return wrong(std::string(key) + " must be a " + (lines ? "text" : "line") + " of at most " +
                     std::to_string(longest) + " bytes");
    return text;
}

/// Returns the file name in the member `key`. The name must not contain a directory: otherwise the policy's
/// author could send any file of the host as a token.
Result<std::string> file_of(const Json& value, const char* key) {
    constexpr std::size_t longest_file = 255;
    GPUHOST_TRY(name, text_of(value, key, longest_file));
    if (name.find('/') != std::string::npos || name == "." || name == "..")
        return wrong(std::string(key) + " must be the name of a file in /etc/gpuhost/cluster/gates");
    return name;
}

/// Quotes `text` as a PromQL string.
std::string promql_text(const std::string& text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            made += '\\';
        made += c;
    }
    return made + "\"";
}

/// Joins the patterns in the member `key` into one regular expression that matches any of them; empty if the
/// member is absent.
Result<std::string> patterns_of(const Json& value, const char* key) {
    const Json& found = member(value, key);
    if (found.is_null())
        return std::string();
    if (!found.is_array() || found.empty() || found.size() > most_patterns)
        return wrong(std::string(key) + " must be a list of 1 to " + std::to_string(most_patterns) +
                     " names or regular expressions");
    std::string all;
    for (const Json& pattern : found) {
        GPUHOST_TRY(text, text_of({{key, pattern}}, key, longest_query));
        if (text.empty())
            return wrong(std::string(key) + " has an empty element");
        all += (all.empty() ? "(?:" : "|(?:") + text + ")";
    }
    return all;
}

/// Returns the query of a gate on alerts. Prometheus stores alerts as series, so PromQL's regular expressions
/// select them.
Result<std::string> alerts_query(const Json& value) {
    GPUHOST_TRY(names, patterns_of(value, "alerts"));
    GPUHOST_TRY(ignored, patterns_of(value, "ignoreAlerts"));
    const Json& pending = member(value, "pendingAlerts");
    if (!pending.is_null() && !pending.is_boolean())
        return wrong("pendingAlerts must be true or false");
    if (names.empty() && (!ignored.empty() || !pending.is_null()))
        return wrong("ignoreAlerts and pendingAlerts require alerts");
    if (names.empty())
        return std::string();
    const bool too = pending.is_boolean() && pending.get<bool>();
    return (too ? R"(ALERTS{alertstate=~"pending|firing",alertname=~)"
                : R"(ALERTS{alertstate="firing",alertname=~)") +
           promql_text(names) + (ignored.empty() ? "" : ",alertname!~" + promql_text(ignored)) + "}";
}

Result<void> read_question(Gate& gate, const Json& value) {
    GPUHOST_TRY(query, text_of(value, "query", longest_query, true));
    GPUHOST_TRY(alerts, alerts_query(value));
    if (query.empty() == alerts.empty())
        return wrong("it must have either a query or alerts");
    gate.is_alerts = query.empty();
    gate.query = gate.is_alerts ? std::move(alerts) : std::move(query);
    if (gate.query.size() > longest_query)
        return wrong("its alerts make a query of more than " + std::to_string(longest_query) + " bytes");
    return {};
}

Result<void> read_server(Gate& gate, const Json& value) {
    auto url = parse_http_url(string_or(value, "url", ""));
    if (!url)
        return base::fail(Errc::InvalidArgument, "url " + url.error().message, url.error().hint);
    gate.url = std::move(*url);
    GPUHOST_TRY(authorities, file_of(value, "caFile"));
    GPUHOST_TRY(token, file_of(value, "tokenFile"));
    if (!base::starts_with(gate.url, "https:") && !(authorities + token).empty())
        return wrong("caFile and tokenFile require an https:// url: a token is never sent without TLS");
    gate.authorities = std::move(authorities);
    gate.token = std::move(token);
    return {};
}

std::string shut(const Gate& gate, const std::string& why) {
    return "gate '" + gate.name + "': " + why;
}

/// Returns `text` on one line, with limited length.
std::string quoted_text(std::string text) {
    std::replace_if(text.begin(), text.end(), is_control, ' ');
    if (text.size() <= longest_shown)
        return text;
    std::size_t end = longest_shown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end; // not inside a character
    return text.substr(0, end) + "…";
}

/// Returns "up{instance="gpu01:9100",job="node"}".
std::string series_text(const Json& sample) {
    std::string labels;
    for (const auto& [name, value] : base::string_map_or_empty(sample, "metric"))
        if (name != "__name__")
            labels += (labels.empty() ? "" : ",") + name + "=" + promql_text(value);
    return string_or(member(sample, "metric"), "__name__", "") + "{" + labels + "}";
}

std::string finding(const Gate& gate, const Json& sample) {
    const Json& metric = member(sample, "metric");
    if (gate.is_alerts)
        return shut(gate, "alert '" + quoted_text(string_or(metric, "alertname", "?")) + "' is " +
                              quoted_text(string_or(metric, "alertstate", "firing")));
    return shut(gate, "its query finds " + quoted_text(series_text(sample)));
}

std::string why_shut_by_vector(const Gate& gate, const Json& samples, const std::string& before) {
    std::set<std::string> findings;
    for (const Json& sample : samples)
        findings.insert(finding(gate, sample));
    if (findings.empty() || findings.count(before) != 0)
        return findings.empty() ? "" : before;
    return *findings.begin();
}

/// Returns the result of why_shut() for a scalar: a time and a value, such as [1435781451.781, "0"].
std::string why_shut_by_scalar(const Gate& gate, const Json& value) {
    if (value.size() != 2 || !value[1].is_string())
        return why_shut(gate, "the answer is not a scalar");
    const auto& text = value[1].get_ref<const std::string&>();
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0')
        return why_shut(gate, "the answer is not a scalar");
    return std::fpclassify(number) == FP_ZERO ? "" : shut(gate, "its query's result is not 0");
}

/// Describes an HTTP error of the Prometheus. Only "bad_data" includes the server's message, because other
/// messages may differ each time.
std::string refusal(unsigned status, const Json& body) {
    const std::string type = quoted_text(string_or(body, "errorType", ""));
    std::string words = "answered " + std::to_string(status) + (type.empty() ? "" : ", " + type);
    if (type == "bad_data")
        words += ": " + quoted_text(string_or(body, "error", ""));
    return words;
}

} // namespace

Result<Gate> parse_gate(const Json& value) {
    constexpr std::string_view known[]{"name",         "url",           "query",           "alerts",
                                       "ignoreAlerts", "pendingAlerts", "intervalSeconds", "caFile",
                                       "tokenFile"};
    if (!value.is_object())
        return wrong("it is not a map");
    if (const std::string unknown = unknown_fields(value, known); !unknown.empty())
        return wrong(unknown);
    Gate gate;
    GPUHOST_TRY(name, text_of(value, "name", longest_name));
    if (name.empty())
        return wrong("it must have a name");
    gate.name = std::move(name);
    GPUHOST_CHECK(read_server(gate, value));
    GPUHOST_CHECK(read_question(gate, value));
    if (const Json& every = member(value, "intervalSeconds"); !every.is_null()) {
        if (!every.is_number_integer() || every.get<std::int64_t>() < 1 ||
            every.get<std::int64_t>() > longest_interval)
            return wrong("intervalSeconds must be a whole number from 1 to " +
                         std::to_string(longest_interval));
        gate.interval = std::chrono::seconds(every.get<std::int64_t>());
    }
    return gate;
}

std::string gate_target(const Gate& gate) {
    return gate.url + "/api/v1/query?query=" + base::percent_encoded(gate.query);
}

std::string why_shut(const Gate& gate, std::string_view problem) {
    return shut(gate, "can't query " + gate.url + ": " + quoted_text(std::string(problem)));
}

std::string why_shut(const Gate& gate, unsigned status, std::string_view body, const std::string& before) {
    const auto parsed = base::parse_json(body, "the answer");
    if (status < 200 || status > 299)
        return why_shut(gate, refusal(status, parsed.value_or(Json())));
    if (!parsed)
        return why_shut(gate, "the answer is not valid JSON");
    const Json& answer = *parsed;
    if (string_or(answer, "status", "") != "success")
        return why_shut(gate, refusal(status, answer));
    const Json& data = member(answer, "data");
    const std::string type = string_or(data, "resultType", "");
    const Json& result = member(data, "result");
    if ((type != "vector" && type != "scalar") || !result.is_array())
        return why_shut(gate, "the answer is neither an instant vector nor a scalar");
    std::string why =
        type == "vector" ? why_shut_by_vector(gate, result, before) : why_shut_by_scalar(gate, result);
    // In an incomplete answer, the missing part might have shut the gate.
    const Json& warnings = member(answer, "warnings");
    if (why.empty() && (!warnings.is_null() && !(warnings.is_array() && warnings.empty())))
        return why_shut(gate, "the answer is incomplete: it has warnings");
    return why.empty() && base::bool_or(answer, "isPartial", false)
               ? why_shut(gate, "the answer is incomplete")
               : why;
}

} // namespace gpuhost::cluster
