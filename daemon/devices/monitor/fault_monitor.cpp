// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/monitor/fault_monitor.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/log.hpp"
#include "daemon/devices/device_health.hpp"
#include "daemon/devices/health/clears.hpp"
#include "daemon/devices/health/kmsg_record.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpuhost::devices {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t largest_log = 1U << 20; ///< bytes
/// Records until the loop gets its turn. The kernel's whole log has fewer.
constexpr int largest_batch = 100000;

bool gives_records(int descriptor) {
    struct stat found {};
    if (::fstat(descriptor, &found) != 0)
        return false;
    return S_ISSOCK(found.st_mode) || (S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 11));
}

/// Returns CLOCK_REALTIME for a time of the kernel's log, as far as the clocks agree.
std::int64_t time_of(const KmsgRecord& record) {
    const auto now = static_cast<std::int64_t>(base::realtime_us());
    const auto boot = now - static_cast<std::int64_t>(base::monotonic_us());
    return std::min(now, boot + std::min(record.since_boot_us, now));
}

} // namespace

FaultMonitor::FaultMonitor(const base::Root& root, host::Event& event, std::function<void()> on_change)
    : root_(root), event_(event), on_change_(std::move(on_change)), buffer_(largest_record, '\0') {}

Result<void> FaultMonitor::start(int descriptor) {
    restore();
    if (!gives_records(descriptor)) {
        go_blind("the standard input is not /dev/kmsg");
        return {};
    }
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
        return base::fail_errno("preparing to read the kernel's messages", errno);
    descriptor_ = descriptor;
    (void)read_batch(Phase::Backlog);
    if (!blind_.empty())
        return {};
    GPUHOST_TRY(watched, event_.on_io(descriptor, EPOLLIN, [this] {
        if (read_batch(Phase::Live))
            on_change_();
    }));
    source_ = std::move(watched);
    return {};
}

void FaultMonitor::apply(const std::vector<Gpu>& gpus, const HealthRules& rules) {
    if (source_)
        (void)read_batch(Phase::Live); // which the clear ends as well
    if (std::exchange(rebuilt_, false)) {
        log_.applied = rules.clears; // they may be older than the faults
        unsaved_ = true;
    }
    unsaved_ = apply_clears(log_, gpus, rules) || unsaved_;
    if (unsaved_)
        save();
}

void FaultMonitor::restore() {
    const auto text = root_.read(faults_path, largest_log);
    // A process may have ended between the rename of a damaged file and its first save.
    if (!text && text.error().code == Errc::NotFound && !root_.exists(damaged_faults_path))
        return;
    auto saved = text ? parse_fault_log(*text) : base::fail(text.error());
    if (saved)
        log_ = *std::move(saved);
    else
        rebuild(saved.error());
}

/// Keeps the file beside, if it exists. The messages that the kernel still has give the faults again.
void FaultMonitor::rebuild(const base::Error& error) {
    base::log::warning("the faults of GPUs are read again from the kernel's messages: " + error.message);
    const auto kept = root_.rename(faults_path, damaged_faults_path);
    if (!kept && kept.error().code != Errc::NotFound)
        base::log::warning(kept.error().message);
    (void)lose_errors(log_, "the file of faults was damaged");
    rebuilt_ = true;
    unsaved_ = true;
}

/// Returns false if that is known.
bool FaultMonitor::lose_messages() {
    if (!lose_errors(log_, "the kernel has overwritten messages before they were read"))
        return false;
    unsaved_ = true;
    base::log::warning("GPUs: " + log_.missing);
    base::log::warning(blind_advice(log_.missing));
    return true;
}

/// Reads all messages that wait. Returns true if log() or blind() changes by them.
bool FaultMonitor::read_batch(Phase phase) {
    bool changed = false;
    for (int count = 0; count < largest_batch; ++count) {
        const ssize_t size = ::read(descriptor_, buffer_.data(), buffer_.size());
        if (size > 0) {
            changed =
                take(std::string_view(buffer_).substr(0, static_cast<std::size_t>(size)), phase) || changed;
            continue;
        }
        if (size < 0 && (errno == EINTR || errno == EINVAL))
            continue; // EINVAL: a record that is larger than the buffer, which the kernel skips
        if (size < 0 && errno == EPIPE) {
            // In the backlog these are the oldest messages, which an earlier process may have read.
            if (phase == Phase::Live)
                changed = lose_messages() || changed;
            continue;
        }
        if (size == 0 || errno != EAGAIN) {
            go_blind(size == 0 ? "the kernel's messages have ended"
                               : std::string("reading the kernel's messages: ") + std::strerror(errno));
            changed = true;
        }
        break;
    }
    if (unsaved_)
        save();
    return changed;
}

bool FaultMonitor::take(std::string_view text, Phase phase) {
    const auto record = parse_kmsg_record(text);
    if (!record || record->sequence < log_.next_sequence)
        return false;
    const auto event = parse_kernel_line(record->text);
    if (!event)
        return false;
    const auto now = static_cast<std::int64_t>(base::realtime_us());
    unsaved_ = add_event(log_, *event, phase == Phase::Live ? now : time_of(*record)) || unsaved_;
    log_.next_sequence = record->sequence + 1;
    return true;
}

void FaultMonitor::go_blind(std::string why) {
    blind_ = "errors are not detected: " + std::move(why);
    source_.reset();
    base::log::warning("GPUs: " + blind_);
    base::log::warning(blind_advice(blind_));
}

/// Not called for other messages and repeated errors, which may be many. A new process reads those again.
/// After a failure, the next message or offer saves. Faults that are read again are saved with the clears
/// that are older: without these, a new process would apply them. Until then, it reads the faults again, too.
void FaultMonitor::save() {
    if (rebuilt_)
        return;
    const auto saved = root_.write_atomic(faults_path, to_text(log_));
    unsaved_ = !saved;
    if (!saved)
        base::log::warning("faults of GPUs are not saved: " + saved.error().message);
}

} // namespace gpuhost::devices
