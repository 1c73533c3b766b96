// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/device_files.hpp"

#include "daemon/base/log.hpp"

#include <array>
#include <cstring>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace gpuhost {

namespace {

std::string_view directory_of(std::string_view path) {
    return path.substr(0, path.rfind('/'));
}

std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// Logs trouble once, until it changes.
void note(std::string& logged, const std::string& trouble) {
    if (!trouble.empty() && trouble != logged)
        base::log::warning(trouble);
    logged = trouble;
}

} // namespace

DeviceFiles::DeviceFiles(const base::Root& root)
    : root_(root), watch_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    refresh();
}

bool DeviceFiles::changed() {
    std::array<char, 4096> events{};
    bool any = false;
    for (ssize_t size = 0; watch_ && (size = ::read(watch_.get(), events.data(), events.size())) > 0;)
        for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
            inotify_event event{};
            std::memcpy(&event, events.data() + at, sizeof event);
            const char* const name = event.len == 0 ? "" : events.data() + at + sizeof event;
            any = any || event.wd != parent_ || name == name_of(directory_of(devices::answer_path));
            at += sizeof event + event.len;
        }
    return any;
}

/// Watches a directory if it exists. Returns the watch, or -1. The kernel has one for each directory.
int DeviceFiles::follow(std::string_view directory, std::uint32_t events) const {
    const auto opened = root_.open_file(directory, O_PATH | O_DIRECTORY);
    if (!opened || !watch_)
        return -1;
    const std::string path = "/proc/self/fd/" + std::to_string(opened->get());
    return ::inotify_add_watch(watch_.get(), path.c_str(), events);
}

void DeviceFiles::refresh() {
    const std::string_view own = directory_of(devices::answer_path);
    parent_ = follow(directory_of(own), IN_CREATE | IN_MOVED_TO);
    for (const std::string_view directory : {directory_of(devices::offer_path), own})
        (void)follow(directory, IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF);
    facts_ = {};
    read_answer();
    read_offer();
}

void DeviceFiles::read_answer() {
    const auto text = root_.read(devices::answer_path, devices::largest_offer);
    auto answer = text ? devices::parse_answer(*text) : base::fail(text.error());
    if (answer)
        facts_.answer = *std::move(answer);
    else if (text || text.error().code != base::Errc::NotFound)
        facts_.answer_error = answer.error().message;
    note(answer_trouble_, facts_.answer_error);
}

void DeviceFiles::read_offer() {
    const auto text = root_.read(devices::offer_path, devices::largest_offer);
    auto offer = text ? devices::parse_offer(*text) : base::fail(text.error());
    if (offer)
        facts_.offer = *std::move(offer);
    else
        facts_.unreadable = text || text.error().code != base::Errc::NotFound;
    note(offer_trouble_, facts_.unreadable ? offer.error().message : "");
}

} // namespace gpuhost
