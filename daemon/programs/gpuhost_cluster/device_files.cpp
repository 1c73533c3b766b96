// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/device_files.hpp"

#include "daemon/base/log.hpp"

#include <array>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace gpuhost {

namespace {

std::string_view directory_of(std::string_view path) {
    return path.substr(0, path.rfind('/'));
}

} // namespace

DeviceFiles::DeviceFiles(const base::Root& root)
    : root_(root), watch_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    refresh();
}

bool DeviceFiles::changed() {
    std::array<char, 4096> events{};
    bool any = false;
    while (watch_ && ::read(watch_.get(), events.data(), events.size()) > 0)
        any = true;
    return any;
}

/// Watches a directory if it exists. The kernel has one watch for each directory.
void DeviceFiles::follow(std::string_view directory) const {
    const auto opened = root_.open_file(directory, O_PATH | O_DIRECTORY);
    if (!opened || !watch_)
        return;
    const std::string path = "/proc/self/fd/" + std::to_string(opened->get());
    (void)::inotify_add_watch(watch_.get(), path.c_str(), IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF);
}

void DeviceFiles::refresh() {
    follow(directory_of(devices::offer_path));
    follow(directory_of(devices::answer_path));
    facts_ = {};
    if (const auto text = root_.read(devices::answer_path, devices::largest_offer))
        if (auto answer = devices::parse_answer(*text))
            facts_.answer = *std::move(answer);
    const auto text = root_.read(devices::offer_path, devices::largest_offer);
    auto offer = text ? devices::parse_offer(*text) : base::fail(text.error());
    if (offer)
        facts_.offer = *std::move(offer);
    else
        facts_.unreadable = text || text.error().code != base::Errc::NotFound;
    note(facts_.unreadable ? offer.error().message : "");
}

void DeviceFiles::note(const std::string& trouble) {
    if (!trouble.empty() && trouble != trouble_)
        base::log::warning(trouble);
    trouble_ = trouble;
}

} // namespace gpuhost
