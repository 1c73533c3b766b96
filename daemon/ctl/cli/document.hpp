// SPDX-License-Identifier: Apache-2.0
// Reads members of gpuhostd's JSON documents, for display.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

using base::list_of;

/// Returns the member as printable text; empty if it is absent or not a string.
[[nodiscard]] inline std::string text_of(const base::Json& object, std::string_view key) {
    return printable(base::string_or(object, key, ""));
}

/// Returns the member, which is a size, a count or a time; 0 if it is absent, negative or not a number.
[[nodiscard]] inline std::uint64_t number_of(const base::Json& object, std::string_view key) {
    const std::int64_t value = base::int_or(object, key, 0);
    return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

/// Returns an operation's "progress", limited to the range from 0 to 1.
[[nodiscard]] inline double progress_of(const base::Json& operation) {
    const base::Json& value = base::member(operation, "progress");
    const double fraction = value.is_number() ? value.get<double>() : 0;
    return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
}

/// The place of a step among the steps that are not skipped.
struct StepPosition {
    std::size_t number = 0; ///< from 1; that of the step before for a skipped step
    std::size_t count = 0;  ///< falls when a step that ran leaves nothing for later ones to do
};
[[nodiscard]] inline StepPosition position_of(const base::Json& steps, std::size_t step) {
    StepPosition position;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (base::string_or(steps[i], "state", "") == "skipped")
            continue;
        ++position.count;
        if (i <= step)
            ++position.number;
    }
    return position;
}

/// Returns true if a plan or an operation changes the running host, and not only stored files.
[[nodiscard]] inline bool changes_host(const base::Json& document) {
    return base::bool_or(document, "changes_host", true);
}

/// Returns the strings in the list `key` of the results of all steps.
[[nodiscard]] inline std::vector<std::string> strings_of_outputs(const base::Json& operation,
                                                                 std::string_view key) {
    std::vector<std::string> all;
    for (const base::Json& output : list_of(operation, "outputs"))
        for (std::string& text : base::strings_or_empty(output, key))
            all.push_back(std::move(text));
    return all;
}

/// Returns the warnings of an operation's steps. A warning does not end the operation.
[[nodiscard]] inline std::vector<std::string> warnings_of(const base::Json& operation) {
    return strings_of_outputs(operation, "warnings");
}

/// Returns the notes of an operation's steps: checks that were left out.
[[nodiscard]] inline std::vector<std::string> notes_of(const base::Json& operation) {
    return strings_of_outputs(operation, "notes");
}

/// Returns the processes that the operation terminated, one text for each unit, container or pod.
[[nodiscard]] inline std::vector<std::string> terminated_by(const base::Json& operation) {
    return strings_of_outputs(operation, "terminated");
}

} // namespace gpuhost::ctl
