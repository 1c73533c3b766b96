// SPDX-License-Identifier: Apache-2.0
// The journals of transactions: /var/lib/gpuhost/journal/<id>.jsonl. Each record is one line: CRC-32 of the
// JSON text in 8 hex digits, a blank, and the JSON text. An action begins only after the record that
// announces it is synced to disk.
#pragma once

#include "daemon/core/transaction.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::core {

inline constexpr std::string_view journal_directory = "/var/lib/gpuhost/journal";

[[nodiscard]] std::string encode_record(const Record& record); ///< with the final newline
/// Decodes a journal. Ignores an incomplete last line, as a power cut leaves it. Fails with BadContent for
/// any other damage. For a journal that a newer version of gpuhostd wrote, fails with Unsupported if its
/// transaction has not ended, and with BadContent if it has.
[[nodiscard]] base::Result<std::vector<Record>> decode_journal(std::string_view text);

/// Creates the reserve, a file of 1 MiB in /var/lib/gpuhost. It is removed when the disk is full and a record
/// must be written, so that operations that free space still work. Does nothing if the reserve exists, or if
/// there is no space for it.
void keep_journal_reserve(const base::Root& root);
/// Removes the reserve, so that the caller can write again. Returns false if there is none.
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

    base::UniqueFd directory_; ///< /var/lib/gpuhost, which contains the reserve
    base::UniqueFd fd_;
    std::uint64_t id_;
    off_t size_; ///< bytes of complete records; an incomplete one may follow in the file
};

[[nodiscard]] base::Result<std::vector<Record>> read_journal(const base::Root& root, std::uint64_t id);
[[nodiscard]] base::Result<std::vector<std::uint64_t>> list_journals(const base::Root& root); ///< ascending
[[nodiscard]] base::Result<void> remove_journal(const base::Root& root, std::uint64_t id);

} // namespace gpuhost::core
