// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/history.hpp"

#include "daemon/base/log.hpp"

#include <algorithm>

namespace gpuhost::host {

using base::Errc;
using base::Json;
using base::Result;

namespace {

/// The format version of the history file. Increased if an older gpuhostd must not write the file.
constexpr std::int64_t format = 1;

/// Returns the first line, at most 500 bytes: the message of an error may quote a compiler's output.
std::string one_line(const std::string& text) {
    constexpr std::size_t longest = 500; // bytes
    std::size_t end = std::min(text.find('\n'), text.size());
    if (end > longest)
        for (end = longest; (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U;)
            --end; // do not cut a UTF-8 character
    return text.substr(0, end);
}

bool is_same(const Json& one, const Json& other) {
    return base::member(one, "operation") == base::member(other, "operation") &&
           base::member(one, "began_us") == base::member(other, "began_us");
}

bool holds(const Json& changes, const Json& change) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const Json& known) { return is_same(known, change); });
}

Result<Json> parse(const std::string& text) {
    GPUHOST_TRY(json, base::parse_json(text, history_file));
    if (base::int_or(json, "format", format) > format)
        return base::fail(Errc::Unsupported, "written by a newer version of gpuhostd");
    Json changes = base::member(json, "changes");
    if (!changes.is_array())
        return base::fail(Errc::BadContent, "key 'changes': missing or not a list");
    return changes;
}

} // namespace

std::optional<Json> driver_change(const Operation& operation) {
    const core::Transaction& transaction = operation.transaction;
    const auto& change = transaction.plan().driver;
    if (!change || !transaction.touched())
        return std::nullopt;
    return Json{{"operation", operation.id},
                {"kind", transaction.plan().kind},
                {"kernel", change->kernel},
                {"from", change->from},
                {"to", change->to},
                {"began_us", transaction.began_us()},
                {"ended_us", transaction.ended_us()},
                {"state", state(operation)},
                {"cause", transaction.error() ? one_line(transaction.error()->message) : ""},
                {"boot_id", transaction.boot_id()},
                {"subject", core::to_json(transaction.subject())}};
}

Result<Json> History::read() const {
    const auto text = root_.read(history_file);
    if (!text && text.error().code == Errc::NotFound)
        return Json::array();
    if (!text)
        return base::fail(text.error());
    return parse(*text);
}

/// Replaces a corrupt history file. Does not write a file that can't be read now, or that a newer gpuhostd
/// wrote; the operation's entry is then lost.
void History::keep(const Operation& operation) const {
    const auto change = driver_change(operation);
    if (!change)
        return;
    const std::string lost =
        "can't record the driver change of operation " + std::to_string(operation.id) + ": ";
    auto changes = read();
    if (!changes && changes.error().code != Errc::BadContent) {
        base::log::warning(lost + changes.error().message + ", ignoring");
        return;
    }
    if (!changes)
        changes = Json::array();
    if (holds(*changes, *change))
        return;
    changes->push_back(*change);
    if (changes->size() > most)
        changes->erase(changes->begin(), changes->end() - most);
    const Json file{{"format", format}, {"changes", *std::move(changes)}};
    if (auto written = root_.write_atomic(history_file, base::dump(file) + "\n", 0600); !written)
        base::log::warning(lost + written.error().message + ", ignoring");
}

Json History::document(const std::vector<const Operation*>& kept, const std::string& boot_id) const {
    Json changes = Json::array();
    if (auto known = read())
        changes = *std::move(known);
    else
        base::log::warning("can't read '" + std::string(history_file) + "': " + known.error().message +
                           ", ignoring");
    for (const Operation* operation : kept)
        if (const auto change = driver_change(*operation); change && !holds(changes, *change))
            changes.push_back(*change);
    std::reverse(changes.begin(), changes.end());
    for (Json& change : changes)
        if (change.is_object())
            change["waits_for_reboot"] = base::string_or(change, "state", "") == "reboot-required" &&
                                         base::string_or(change, "boot_id", "") == boot_id;
    return {{"changes", std::move(changes)}};
}

} // namespace gpuhost::host
