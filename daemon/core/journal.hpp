// SPDX-License-Identifier: Apache-2.0
// The transactions' journals: /var/lib/gpuhost/journal/<id>.jsonl, one checksummed line a record, synced
// before the action that it announces. A line is 8 hex digits of CRC-32 of the rest, a blank, and the record
// as JSON.
#pragma once

#include "daemon/core/transaction.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view journal_directory = "/var/lib/gpuhost/journal";

[[nodiscard]] std::string encode_record(const Record& record); ///< with the final newline
/// Decodes a journal. A torn last line, as a power cut leaves it, ends the journal silently. Fails with
/// BadContent for any other damage. A newer program's journal is Unsupported; if it has ended, BadContent.
[[nodiscard]] base::Result<std::vector<Record>> decode_journal(std::string_view text);

/// Creates a file in /var/lib/gpuhost whose blocks are freed when a record can't be written. Operations that
/// free space therefore still work on a full disk. Does nothing if the file exists, or if there is no space.
void keep_journal_reserve(const base::Root& root);
/// Frees the reserve's blocks for the next write. Returns false if there is no reserve.
[[nodiscard]] bool release_journal_reserve(const base::Root& root);

/// One open journal. append() returns only after the record is on disk.
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

    base::UniqueFd directory_; ///< contains the reserve
    base::UniqueFd fd_;
    std::uint64_t id_;
    off_t size_; ///< of complete records; a partial one may follow
};

[[nodiscard]] base::Result<std::vector<Record>> read_journal(const base::Root& root, std::uint64_t id);
[[nodiscard]] base::Result<std::vector<std::uint64_t>> list_journals(const base::Root& root); ///< ascending
[[nodiscard]] base::Result<void> remove_journal(const base::Root& root, std::uint64_t id);

} // namespace gpuhost::core
