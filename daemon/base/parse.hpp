// SPDX-License-Identifier: Apache-2.0
// Parses small values as people write them. Functions return nullopt if the text as a whole is not valid.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

[[nodiscard]] std::optional<std::uint64_t> parse_uint(std::string_view text, int base = 10);
/// Parses a boolean as systemd does: yes/no, true/false, on/off, 1/0.
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);
/// Parses systemd.time(7) spans: "90", "1min 30s", "500ms"; a bare number is seconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_span(std::string_view text);

/// Parses sizes in systemd's notation: "4095M"; K, M, G and T are powers of 1024, a bare number is bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// Returns true if the text is UTF-8 (RFC 3629), as D-Bus and JSON require of strings.
[[nodiscard]] bool is_utf8(std::string_view text);
[[nodiscard]] std::string_view trim(std::string_view text);
/// Returns the last line of the trimmed text. In the output of a program that failed, this line states the
/// error.
[[nodiscard]] std::string last_line(std::string_view text);
[[nodiscard]] std::vector<std::string> split_words(std::string_view text); ///< at blanks
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
[[nodiscard]] bool starts_with(std::string_view text, std::string_view prefix);
[[nodiscard]] bool ends_with(std::string_view text, std::string_view suffix);

/// Compares versions number by number. Returns -1 if `a` is older than `b` ("535.261.03" and "550.54.14"), 0
/// if they are equal, else 1.
[[nodiscard]] int compare_numbers(std::string_view a, std::string_view b);
/// Returns true for a driver version in NVIDIA's notation: two to four groups of digits ("535.261.03").
[[nodiscard]] bool is_driver_version(std::string_view text);
/// Returns true for a version of NVIDIA's container toolkit, which may be a release candidate: "1.18.1",
/// "1.18.0~rc.2".
[[nodiscard]] bool is_toolkit_version(std::string_view text);
/// Returns true for a kernel release that is safe as a path component ("6.1.0-50-amd64").
[[nodiscard]] bool is_kernel_release(std::string_view text);
/// Returns true for the file name of a driver package that content::Package can read:
/// "nvidia-smi_550.163.01-2_amd64.deb".
[[nodiscard]] bool is_package_file(std::string_view name);
/// Returns true for the file name of a kernel module, compressed or not: "nvidia.ko", "nvidia-uvm.ko.xz".
[[nodiscard]] bool is_module_file(std::string_view name);

} // namespace gpuhost::base
