// SPDX-License-Identifier: Apache-2.0
// The forms are those of NVIDIA's open kernel modules: krcReportXid(), nvidia_init_module() and
// _gpuRefreshRecoveryActionInLock(). Older drivers write the address without "PCI:".
#include "daemon/devices/health/kernel_line.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/devices/health/xid_table.hpp"
#include "daemon/devices/health_rules.hpp"

#include <algorithm>

namespace gpuhost::devices {

namespace {

constexpr std::string_view xid_begin = "NVRM: Xid (";
constexpr std::string_view loading = "NVRM: loading NVIDIA";
constexpr unsigned largest_instance = 999;
constexpr std::string_view digits = "0123456789";
constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";
constexpr std::string_view unit_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"; ///< of NVLink
constexpr std::size_t id_size = 9;                                                 ///< "10de:26b5"

/// Removes `prefix` from the text, if it begins with it.
bool skip(std::string_view& text, std::string_view prefix) {
    if (!base::starts_with(text, prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Takes a decimal number from the beginning of the text.
std::optional<unsigned> take_number(std::string_view& text, unsigned largest) {
    const auto end = std::min(text.find_first_not_of(digits), text.size());
    const auto number = base::parse_uint(text.substr(0, end));
    text.remove_prefix(end);
    return number && *number <= largest ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::string_view take_while(std::string_view& text, std::string_view characters) {
    const std::string_view taken = text.substr(0, text.find_first_not_of(characters));
    text.remove_prefix(taken.size());
    return taken;
}

/// Takes "PCI:0000:CB:00", "0000:cb:00.0" and the like from the beginning of the text, and returns
/// "0000:cb:00". Returns an empty text for another one.
std::string take_address(std::string_view& text) {
    skip(text, "PCI:");
    const std::string_view domain = take_while(text, hex_digits);
    const bool has_bus = skip(text, ":");
    const std::string_view bus = take_while(text, hex_digits);
    const bool has_device = skip(text, ":");
    const std::string_view device = take_while(text, hex_digits);
    if (domain.size() < 4 || domain.size() > 8 || !has_bus || bus.size() != 2 || !has_device ||
        device.size() != 2 || (skip(text, ".") && take_while(text, "01234567").size() != 1))
        return "";
    std::string address = std::string(domain) + ":" + std::string(bus) + ":" + std::string(device);
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

/// Returns the text after the last `words` that are at its beginning or follow a field; nullopt: none. The
/// driver's message is last: a process may have a name with such words.
std::optional<std::string_view> after_last(std::string_view text, std::string_view words) {
    const auto at = text.rfind(words);
    if (at == std::string_view::npos || (at != 0 && !base::ends_with(text.substr(0, at), ", ")))
        return std::nullopt;
    return text.substr(at + words.size());
}

/// Returns true for "RLW_REMAP Fatal XC0 i0 Link 2 (0x1)". The form is longer than the name of a process.
bool unit_is_fatal(std::string_view text) {
    constexpr std::string_view severity = "atal XC"; // of "Fatal" and "Nonfatal"
    const auto at = text.rfind(severity);
    if (at == std::string_view::npos || at < 3 || text.substr(at - 2, 2) != " F")
        return false;
    std::string_view rest = text.substr(at + severity.size());
    return unit_letters.find(text[at - 3]) != std::string_view::npos && !take_while(rest, digits).empty() &&
           skip(rest, " i") && !take_while(rest, digits).empty() && skip(rest, " Link ");
}

bool nvlink_is_fatal(unsigned xid, std::string_view text) {
    return is_nvlink_xid(xid) &&
           (unit_is_fatal(text) || after_last(text, "NVLink: fatal error detected on link "));
}

/// Takes "0x2 (Node Reboot Required)" from the beginning of the text, and leaves the words in `words`.
std::optional<unsigned> take_action(std::string_view& text, std::string_view& words) {
    if (!skip(text, "0x"))
        return std::nullopt;
    const auto number = base::parse_uint(take_while(text, hex_digits), 16);
    const auto end = text.find(')');
    if (!number || *number > largest_xid || !skip(text, " (") || end == std::string_view::npos)
        return std::nullopt;
    words = text.substr(0, end - 2);
    text.remove_prefix(end - 1);
    return words.find('(') == std::string_view::npos ? std::optional(static_cast<unsigned>(*number))
                                                     : std::nullopt;
}

/// Adds the action of "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)". Another
/// form stays an error.
void add_recovery(KernelEvent& event, std::string_view text) {
    auto rest = after_last(text, "GPU recovery action changed from ");
    std::string_view words;
    if (!rest || !take_action(*rest, words) || !skip(*rest, " to "))
        return;
    const auto action = take_action(*rest, words);
    if (!action || !rest->empty())
        return;
    event.kind = KernelEventKind::recovery;
    event.action = *action;
    event.text = reason_of(words);
}

/// Parses "PCI:0000:01:00 GPU-I:05 GPU-CI:02): 94, pid=7194, name=python3, Contained: CE User Channel".
/// Programs can make the kernel write a line that begins with 15 bytes of theirs. An address does not fit.
std::optional<KernelEvent> parse_xid(std::string_view line) {
    KernelEvent event;
    event.address = take_address(line);
    const bool has_instance = skip(line, " GPU-I:");
    event.gpu_instance = has_instance ? take_number(line, largest_instance) : std::nullopt;
    const bool has_compute = skip(line, " GPU-CI:");
    event.compute_instance = has_compute ? take_number(line, largest_instance) : std::nullopt;
    if (event.address.empty() || has_instance != event.gpu_instance.has_value() ||
        has_compute != event.compute_instance.has_value() || !skip(line, "): "))
        return std::nullopt;
    const auto xid = take_number(line, largest_xid);
    if (!xid || *xid == 0 || !(line.empty() || skip(line, ", ")))
        return std::nullopt;
    const std::string text(base::trim(line));
    event.xid = *xid;
    event.text = reason_of(message_of(text));
    event.fatal = nvlink_is_fatal(*xid, text);
    if (*xid == xid_recovery_action)
        add_recovery(event, text);
    return event;
}

/// Parses "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus." and the lines about a GPU that does not
/// respond when the driver is loaded.
std::optional<KernelEvent> parse_lost(std::string_view line) {
    const bool is_long = skip(line, "NVRM: The NVIDIA GPU ");
    if (!is_long && !skip(line, "NVRM: GPU at ") && !skip(line, "NVRM: GPU "))
        return std::nullopt;
    KernelEvent event;
    event.address = take_address(line);
    if (event.address.empty() ||
        !(is_long ? skip(line, " NVRM: (PCI ID: ") &&
                        line.find(") installed in this system has NVRM: fallen off the bus") == id_size
                  : skip(line, ": GPU has fallen off the bus") || skip(line, " has fallen off the bus")))
        return std::nullopt;
    event.xid = xid_fallen_off_the_bus;
    event.text = "GPU has fallen off the bus.";
    return event;
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
