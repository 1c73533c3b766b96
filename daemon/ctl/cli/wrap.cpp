// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/wrap.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gpuhost::ctl {
namespace {

constexpr std::array programs{"gpuhostctl", "systemctl", "journalctl",  "systemd-sysusers",
                              "apt",        "apt-get",   "dnf",         "dpkg",
                              "lspci",      "rmmod",     "modprobe",    "kubectl",
                              "openssl",    "mokutil",   "timedatectl", "update-initramfs",
                              "dracut",     "chmod",     "chown",       "ls",
                              "nvidia-smi", "sudo"};
constexpr std::array ambiguous{"mount", "skopeo"}; ///< also ordinary words: a command only after a colon

template <std::size_t N>
bool has(const std::array<const char*, N>& names, std::string_view word) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

bool begins_command(std::string_view word, std::string_view before) {
    if (!word.empty() && (word.front() == '\'' || word.front() == '('))
        word.remove_prefix(1);
    return has(programs, word) || (has(ambiguous, word) && base::ends_with(before, ":"));
}

/// Returns true if a command ends with this word. `quoted`: the command is in quotes. In another one, a quote
/// ends an argument.
bool ends_command(std::string_view word, bool quoted) {
    const std::string_view ends = quoted ? ".,;:)'" : ".,;:)";
    return !word.empty() && ends.find(word.back()) != std::string_view::npos;
}

constexpr std::array units{"s", "min", "h", "day", "days"};

/// Returns true if a line must not end between the two words: "1 min 12 s ago".
bool is_in_duration(std::string_view before, std::string_view word) {
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
    };
    const std::string_view unit = word.substr(0, word.find_last_not_of(".,;:)") + 1);
    return has(units, before) ? unit == "ago" || is_number(word) : is_number(before) && has(units, unit);
}

/// Splits text into words, with each command and each duration as one piece.
std::vector<std::string> pieces_of(std::string_view text) {
    std::vector<std::string> pieces;
    std::string before; // the previous word
    bool in_command = false;
    bool quoted = false;
    for (const std::string& word : base::split_words(text)) {
        in_command = in_command && word.front() != '('; // a remark after the command
        if (in_command || is_in_duration(before, word))
            pieces.back() += " " + word;
        else
            pieces.push_back(word);
        if (!in_command && begins_command(word, before)) {
            in_command = true;
            quoted = word.front() == '\'';
        }
        in_command = in_command && !ends_command(word, quoted);
        before = word;
    }
    return pieces;
}

/// Returns the width of "12. " at the begin of a numbered line; 2 for other lines.
std::size_t hang_of(std::string_view line) {
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    return digits > 0 && line.substr(digits, 2) == ". " ? digits + 2 : 2;
}

} // namespace

std::size_t visible_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const std::size_t escape = std::min(text.find('\033'), text.size());
        width += text_width(text.substr(0, escape));
        text.remove_prefix(escape);
        text.remove_prefix(text.empty() ? 0 : std::min(text.find('m'), text.size() - 1) + 1);
    }
    return width;
}

std::size_t unbroken_width(std::string_view text) {
    std::size_t width = 0;
    for (const std::string& piece : pieces_of(text))
        width = std::max(width, visible_width(piece));
    return width;
}

std::string hanging(const Screen& screen, std::string_view lead, std::string_view text) {
    const std::size_t width = visible_width(lead);
    return std::string(lead) +
           (screen.terminal ? wrap(text, screen.columns, width, width) : std::string(text));
}

std::string fit(const Screen& screen, std::string_view text) {
    if (!screen.terminal)
        return std::string(text);
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
        const std::string_view words = line.substr(blanks);
        out += std::string(blanks, ' ') + wrap(words, screen.columns, blanks, blanks + hang_of(words));
        text.remove_prefix(end);
        if (!text.empty()) {
            out += '\n';
            text.remove_prefix(1);
        }
    }
    return out;
}

std::string wrap(std::string_view text, std::size_t columns, std::size_t at, std::size_t indent) {
    if (at + visible_width(text) <= columns)
        return std::string(text);
    std::string out;
    std::size_t used = at;
    bool is_first = true; // first piece of a line
    for (const std::string& piece : pieces_of(text)) {
        const std::size_t width = visible_width(piece);
        if (!is_first && used + 1 + width > columns) {
            out += "\n" + std::string(indent, ' ');
            used = indent;
            is_first = true;
        }
        out += (is_first ? "" : " ") + piece;
        used += (is_first ? 0 : 1) + width;
        is_first = false;
    }
    return out;
}

} // namespace gpuhost::ctl
