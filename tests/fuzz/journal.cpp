// SPDX-License-Identifier: Apache-2.0
// Parses a journal with checksums, and bare records, which a fuzzer can change without computing checksums.
#include "daemon/core/journal.hpp"

#include "tests/fuzz/fuzz.hpp"

#include <sstream>
#include <string>

using namespace gpuhost;

namespace {

std::vector<core::Record> bare_records(std::string_view text) {
    std::vector<core::Record> records;
    std::istringstream in{std::string(text)};
    for (std::string line; std::getline(in, line);) {
        const auto value = base::parse_json(line, "record");
        if (auto record =
                value ? core::record_from_json(*value) : base::fail(base::Errc::BadContent, "no JSON"))
            records.push_back(std::move(*record));
    }
    return records;
}

void fold(const std::vector<core::Record>& records) {
    core::Transaction transaction;
    std::string journal;
    for (const auto& record : records) {
        const bool ended = transaction.outcome().has_value();
        const auto fed = transaction.feed(record);
        fuzz::require(!fed || !ended, "no record follows the end");
        journal += core::encode_record(record);
        if (fed && !transaction.plan().kind.empty())
            (void)transaction.next();
    }
    const auto again = core::decode_journal(journal);
    fuzz::require(again && again->size() == records.size(), "records can be written and read again");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    if (const auto records = core::decode_journal(text))
        fold(*records);
    fold(bare_records(text));
    return 0;
}
