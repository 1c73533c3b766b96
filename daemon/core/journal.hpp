// SPDX-License-Identifier: Apache-2.0
// The transactions' journals: /var/lib/gpuhost/journal/<id>.jsonl, one checksummed line a record, synced
// before the action that it announces. Line: 8 hex digits of CRC-32 of the rest, a blank, the record as JSON.
#pragma once

#include "daemon/core/transaction.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view journal_directory = "/var/lib/gpuhost/journal";

[[nodiscard]] std::string encode_record(const Record& record); ///< with the final newline
/// A torn last line, what a power cut leaves, ends the journal silently; any other damage is BadContent, a
/// journal of a newer program Unsupported unless it has ended, which is BadContent too.
[[nodiscard]] base::Result<std::vector<Record>> decode_journal(std::string_view text);

/// A disk that is full must not keep anybody from making room on it: in /var/lib/gpuhost lies a file whose blocks are set free
/// when one can't be written. Makes it where it is not, if there is room.
void keep_journal_reserve(const base::Root& root);
/// Gives the reserve's blocks to whatever is written next. False if there is none.
[[nodiscard]] bool release_journal_reserve(const base::Root& root);

/// One open journal. Append returns only after the record is on disk.
class Journal {
  public:
    [[nodiscard]] static base::Result<Journal> create(const base::Root& root, std::uint64_t id,
                                                      const Record& begin);
    [[nodiscard]] static base::Result<Journal> open(const base::Root& root, std::uint64_t id);

    [[nodiscard]] base::Result<void> append(const Record& record);

  private:
    Journal(base::UniqueFd directory, base::UniqueFd fd, std::uint64_t id, off_t size)
        : directory_(std::move(directory)), fd_(std::move(fd)), id_(id), size_(size) {}
    [[nodiscard]] base::Result<void> write(const std::string& text);

    base::UniqueFd directory_; ///< where the reserve is
    base::UniqueFd fd_;
    std::uint64_t id_;
    off_t size_; ///< of the whole records; what is beyond is half of one that failed
};

[[nodiscard]] base::Result<std::vector<Record>> read_journal(const base::Root& root, std::uint64_t id);
[[nodiscard]] base::Result<std::vector<std::uint64_t>> list_journals(const base::Root& root); ///< ascending
[[nodiscard]] base::Result<void> remove_journal(const base::Root& root, std::uint64_t id);

} // namespace gpuhost::core
