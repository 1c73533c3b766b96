// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/record.hpp"

#include "daemon/base/parse.hpp"

#include <array>
#include <optional>

namespace gpuhost::core {

using base::Errc;
using base::Json;
using base::Result;

namespace {

template <class Enum>
struct Word {
    Enum value;
    std::string_view text;
};

constexpr std::array phases{Word<Phase>{Phase::Preflight, "preflight"}, Word<Phase>{Phase::Apply, "apply"},
                            Word<Phase>{Phase::Undo, "undo"}};

/// Version of the journal's format; raised when older programs must not resume a journal.
constexpr std::int64_t format = 2;

constexpr std::array outcomes{Word<Outcome>{Outcome::Committed, "committed"},
                              Word<Outcome>{Outcome::Checked, "checked"},
                              Word<Outcome>{Outcome::Refused, "refused"},
                              Word<Outcome>{Outcome::Failed, "failed"},
                              Word<Outcome>{Outcome::RolledBack, "rolled-back"},
                              Word<Outcome>{Outcome::Cancelled, "cancelled"},
                              Word<Outcome>{Outcome::Incomplete, "incomplete"},
                              Word<Outcome>{Outcome::RebootRequired, "reboot-required"}};

constexpr std::array types{
    Word<Record::Type>{Record::Type::Begin, "begin"},   Word<Record::Type>{Record::Type::Start, "start"},
    Word<Record::Type>{Record::Type::Done, "done"},     Word<Record::Type>{Record::Type::Fail, "fail"},
    Word<Record::Type>{Record::Type::Cancel, "cancel"}, Word<Record::Type>{Record::Type::Resume, "resume"},
    Word<Record::Type>{Record::Type::End, "end"}};

template <class Words, class Enum>
std::string_view word_of(const Words& words, Enum value) noexcept {
    for (const auto& word : words)
        if (word.value == value)
            return word.text;
    return {};
}

template <class Words>
auto value_of(const Words& words, std::string_view text) noexcept
    -> std::optional<decltype(words.front().value)> {
    for (const auto& word : words)
        if (word.text == text)
            return word.value;
    return std::nullopt;
}

Subject subject_from_json(const Json& value) {
    Subject subject;
    subject.uid = static_cast<std::uint32_t>(base::int_or(value, "uid", 0));
    subject.pid = static_cast<std::int32_t>(base::int_or(value, "pid", 0));
    subject.command = base::string_or(value, "command", "");
    subject.user = base::string_or(value, "user", "");
    if (base::member(value, "login_uid").is_number_unsigned())
        subject.login_uid = base::member(value, "login_uid").get<std::uint32_t>();
    subject.login_user = base::string_or(value, "login_user", "");
    subject.unit = base::string_or(value, "unit", "");
    subject.bus_name = base::string_or(value, "bus_name", "");
    subject.action = base::string_or(value, "action", "");
    subject.allowed_by = base::string_or(value, "allowed_by", "");
    return subject;
}

std::vector<std::vector<std::size_t>> groups_from_json(const Json& value) {
    std::vector<std::vector<std::size_t>> groups;
    for (const Json& list : value)
        for (groups.emplace_back(); const Json& step : list)
            if (step.is_number_unsigned())
                groups.back().push_back(step.get<std::size_t>());
    return groups;
}

} // namespace

std::string_view origin(const Subject& subject) noexcept {
    if (subject.allowed_by == "daemon")
        return "daemon";
    if (subject.unit == "gpuhost-cluster.service")
        return "cluster";
    return base::starts_with(subject.unit, "gpuhost-") ? "unit" : "request";
}

std::string_view name(Phase phase) noexcept {
    return word_of(phases, phase);
}

std::string_view name(Outcome outcome) noexcept {
    return word_of(outcomes, outcome);
}

std::optional<Phase> phase_from_name(std::string_view text) noexcept {
    return value_of(phases, text);
}

Json to_json(const Subject& subject) {
    return {{"uid", subject.uid},
            {"pid", subject.pid},
            {"command", subject.command},
            {"user", subject.user},
            {"login_uid", subject.login_uid ? Json(*subject.login_uid) : Json()},
            {"login_user", subject.login_user},
            {"unit", subject.unit},
            {"bus_name", subject.bus_name},
            {"action", subject.action},
            {"allowed_by", subject.allowed_by},
            {"origin", origin(subject)}};
}

Json to_json(const Record& record) {
    Json value{{"type", word_of(types, record.type)}, {"t_us", record.t_us}, {"time_us", record.time_us}};
    switch (record.type) {
    case Record::Type::Begin:
        value["format"] = format;
        value["boot_id"] = record.boot_id;
        value["subject"] = to_json(record.subject);
        value["check_only"] = record.check_only;
        value["preflights"] = record.preflights;
        value["plan"] = record.plan ? to_json(*record.plan) : Json();
        break;
    case Record::Type::Done:
        value["output"] = record.output;
        value["continues"] = record.continues;
        [[fallthrough]];
    case Record::Type::Start:
    case Record::Type::Fail:
        if (record.type != Record::Type::Done)
            value["last"] = record.last;
        value["phase"] = name(record.phase);
        value["step"] = record.step;
        break;
    case Record::Type::Resume:
        // The records after this one have this format, even if the first records of the journal have an
        // earlier one.
        value["format"] = format;
        value["boot_id"] = record.boot_id;
        break;
    case Record::Type::End:
        value["outcome"] = name(record.outcome);
        break;
    case Record::Type::Cancel:
        break;
    }
    if (record.error)
        value["error"] = base::to_json(*record.error);
    if (!record.problems.empty())
        value["problems"] = to_json(record.problems);
    return value;
}

Result<Record> record_from_json(const Json& value) {
    Record record;
    const auto type = value_of(types, base::string_or(value, "type", ""));
    if (!type || base::int_or(value, "format", format) > format)
        return base::fail(Errc::Unsupported, "journal record: written by a newer version of gpuhostd");
    record.type = *type;
    record.t_us = static_cast<std::uint64_t>(base::int_or(value, "t_us", 0));
    record.time_us = static_cast<std::uint64_t>(base::int_or(value, "time_us", 0));
    record.boot_id = base::string_or(value, "boot_id", "");
    record.step = static_cast<std::size_t>(base::int_or(value, "step", 0));
    // A record of format 1 names one step.
    record.last = static_cast<std::size_t>(base::int_or(value, "last", base::int_or(value, "step", 0)));
    record.continues = base::bool_or(value, "continues", false);
    record.output = base::member(value, "output");
    record.problems = problems_from_json(base::member(value, "problems"));
    record.subject = subject_from_json(base::member(value, "subject"));
    if (base::member(value, "error").is_object())
        record.error = base::error_from_json(base::member(value, "error"));
    record.phase = phase_from_name(base::string_or(value, "phase", "preflight")).value_or(Phase::Preflight);
    if (record.type == Record::Type::End) {
        const auto outcome = value_of(outcomes, base::string_or(value, "outcome", ""));
        if (!outcome)
            return base::fail(Errc::Unsupported, "journal record: outcome of a newer version of gpuhostd");
        record.outcome = *outcome;
    }
    if (record.type == Record::Type::Begin) {
        GPUHOST_TRY(plan, plan_from_json(base::member(value, "plan")));
        record.plan = std::move(plan);
        record.check_only = base::bool_or(value, "check_only", false);
        record.preflights = groups_from_json(base::member(value, "preflights"));
        for (const auto& group : record.preflights)
            for (const std::size_t step : group)
                if (step >= record.plan->steps.size())
                    return base::fail(Errc::BadContent,
                                      "journal record: preflight of a step that is not in the plan");
    }
    return record;
}

} // namespace gpuhost::core
