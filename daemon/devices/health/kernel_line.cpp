// SPDX-License-Identifier: Apache-2.0
// The forms are those of NVIDIA's open kernel modules: krcReportXid(), nvidia_init_module() and
// _gpuRefreshRecoveryActionInLock(). Older drivers write the address without "PCI:".
#include "daemon/devices/health/kernel_line.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/devices/health/xid_table.hpp"
#include "daemon/devices/health_rules.hpp"

#include <algorithm>
#include <vector>

namespace gpuhost::devices {

namespace {

constexpr std::string_view xid_begin = "NVRM: Xid (";
constexpr std::string_view loading = "NVRM: loading NVIDIA";
constexpr std::string_view lost = "fallen off the bus";
constexpr unsigned largest_instance = 999;

/// Removes `prefix` from the text, if it begins with it.
bool skip(std::string_view& text, std::string_view prefix) {
    if (!base::starts_with(text, prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Takes a decimal number from the beginning of the text.
std::optional<unsigned> take_number(std::string_view& text, unsigned largest) {
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = base::parse_uint(text.substr(0, end));
    text.remove_prefix(end);
    return number && *number <= largest ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

bool is_hex(std::string_view text, std::size_t least, std::size_t most) {
    return text.size() >= least && text.size() <= most &&
           text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Returns "0000:cb:00" for "PCI:0000:CB:00", "0000:cb:00.0" and the like; empty for another text.
std::string address_of(std::string_view text) {
    skip(text, "PCI:");
    text = text.substr(0, text.find('.'));
    const std::vector<std::string> parts = base::split(text, ':');
    if (parts.size() != 3 || !is_hex(parts[0], 4, 8) || !is_hex(parts[1], 2, 2) || !is_hex(parts[2], 2, 2))
        return "";
    std::string address(text);
    std::transform(address.begin(), address.end(), address.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
    return address;
}

std::string reason_of(std::string_view text) {
    std::string reason(base::trim(text).substr(0, longest_reason));
    std::replace_if(
        reason.begin(), reason.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
    return reason;
}

/// Returns the words after "pid=…, name=…, ", which the driver leaves out if it knows no process.
std::string_view message_of(std::string_view text) {
    if (!base::starts_with(text, "pid="))
        return text;
    auto begin = text.find(", ");
    if (begin != std::string_view::npos && base::starts_with(text.substr(begin + 2), "name="))
        begin = text.find(", ", begin + 2);
    return begin == std::string_view::npos ? "" : text.substr(begin + 2);
}

/// Returns true for "Fatal" and "fatal error", but not for "Nonfatal" and "Non-fatal".
bool says_fatal(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (auto at = lower.find("fatal"); at != std::string::npos; at = lower.find("fatal", at + 1))
        if (const std::string before = lower.substr(0, at);
            !base::ends_with(before, "non") && !base::ends_with(before, "non-"))
            return true;
    return false;
}

/// Reads the number after the last "to" in "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot
/// Required)". The name of a process, which may contain such words, precedes it.
std::optional<unsigned> action_of(std::string_view text) {
    constexpr std::string_view to = " to 0x";
    const auto at = text.rfind(to);
    if (at == std::string_view::npos || text.find("changed from 0x") > at)
        return std::nullopt;
    const std::string_view digits = text.substr(at + to.size());
    const auto number = base::parse_uint(digits.substr(0, digits.find_first_not_of("0123456789abcdef")), 16);
    return number && *number <= largest_xid ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

/// Returns "Node Reboot Required" for the text above.
std::string action_text(const std::string& text) {
    const auto begin = text.rfind('(');
    const auto end = text.rfind(')');
    return begin < end && end != std::string::npos ? text.substr(begin + 1, end - begin - 1) : text;
}

/// Parses "PCI:0000:01:00 GPU-I:05 GPU-CI:02): 94, pid=7194, name=python3, Contained: CE User Channel".
std::optional<KernelEvent> parse_xid(std::string_view line) {
    const auto end = line.find("): ");
    if (end == std::string_view::npos)
        return std::nullopt;
    KernelEvent event;
    for (const std::string& word : base::split_words(line.substr(0, end))) {
        std::string_view value = word;
        if (skip(value, "GPU-I:"))
            event.gpu_instance = take_number(value, largest_instance);
        else if (skip(value, "GPU-CI:"))
            event.compute_instance = take_number(value, largest_instance);
        else if (event.address.empty())
            event.address = address_of(value);
    }
    std::string_view text = line.substr(end + 3);
    const auto xid = take_number(text, largest_xid);
    if (event.address.empty() || !xid || *xid == 0 || !(text.empty() || skip(text, ",")))
        return std::nullopt;
    text = base::trim(text);
    event.xid = *xid;
    event.text = reason_of(message_of(text));
    event.fatal = is_nvlink_xid(*xid) && says_fatal(message_of(text));
    if (const auto action = *xid == xid_recovery_action ? action_of(text) : std::nullopt) {
        event.kind = KernelEventKind::recovery;
        event.action = *action;
        event.text = action_text(event.text);
    }
    return event;
}

/// Parses "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus." and the lines about a GPU that does not
/// respond when the driver is loaded.
std::optional<KernelEvent> parse_lost(std::string_view line) {
    if ((!base::starts_with(line, "NVRM: GPU ") && !base::starts_with(line, "NVRM: The NVIDIA GPU ")) ||
        line.find(lost) == std::string_view::npos)
        return std::nullopt;
    for (const std::string& word : base::split_words(line)) {
        std::string_view token = word;
        if (base::ends_with(token, ":"))
            token.remove_suffix(1);
        if (std::string address = address_of(token); !address.empty()) {
            KernelEvent event;
            event.address = std::move(address);
            event.xid = xid_fallen_off_the_bus;
            event.text = "GPU has fallen off the bus.";
            return event;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<KernelEvent> parse_kernel_line(std::string_view line) {
    if (skip(line, xid_begin))
        return parse_xid(line);
    if (base::starts_with(line, loading)) {
        KernelEvent event;
        event.kind = KernelEventKind::load;
        event.text = reason_of(line.substr(sizeof "NVRM: " - 1));
        return event;
    }
    return parse_lost(line);
}

} // namespace gpuhost::devices
