// SPDX-License-Identifier: Apache-2.0
#include "images/crio_pins.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/file_operation.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;
using Names = std::set<std::string>;

namespace {

constexpr std::string_view crio = "/etc/crio";
constexpr std::string_view crio_conf = "/etc/crio/crio.conf";
constexpr std::string_view crio_conf_d = "/etc/crio/crio.conf.d";
/// CRI-O reads whatever is in that directory, so a half-written file must not be.
constexpr std::string_view unfinished = "/etc/crio/gpuhost.unfinished";
/// There until CRI-O has been told of what was written: a crash, or a CRI-O that only just starts, leaves it to the next run.
constexpr std::string_view untold = "/run/gpuhost/crio.untold";
constexpr std::string_view indent = "    \"";

bool has_list(const Root& root, const std::string& file) {
    const std::string text = root.read(file).value_or("");
    for (const std::string_view line : base::split(text, '\n'))
        if (!base::starts_with(base::trim(line), "#") && line.find("pinned_images") != line.npos)
            return true;
    return false;
}

bool somebody_has_list(const Root& root) {
    if (has_list(root, std::string(crio_conf)))
        return true;
    const auto files = root.list(crio_conf_d).value_or(std::vector<std::string>());
    return std::any_of(files.begin(), files.end(), [&](const std::string& name) {
        const std::string path = std::string(crio_conf_d) + "/" + name;
        return (path != crio_pins_file || !content::is_ours(root, path)) && has_list(root, path);
    });
}

std::string text_of(const Names& names) {
    std::string text = std::string(content::file_mark) + "[crio.image]\npinned_images = [\n";
    for (const std::string& name : names)
        text += std::string(indent) + name + "\",\n";
    return text + "]\n";
}

/// The process that answers at that socket; 0 where nobody listens. CRI-O listens long before it takes SIGHUP for anything
/// but its end, so only one that serves is asked for: beside gRPC it has HTTP/1 there.
Result<pid_t> serving_process(const std::string& path, std::chrono::milliseconds patience) {
    constexpr std::string_view request = "GET /info HTTP/1.0\r\nHost: crio\r\n\r\n";
    const auto silent =
        base::fail(Errc::Timeout, path + ": CRI-O gives no answer, and so has not been told what to keep",
                   "See whether it is well; 'gpuhostctl image ensure' tells it again.");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || path.size() >= sizeof address.sun_path)
        return silent;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? Result<pid_t>(0) : silent;
    ucred peer{};
    socklen_t size = sizeof peer;
    pollfd answer{fd.get(), POLLIN, 0};
    char byte = 0;
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != ssize_t{request.size()} ||
        ::poll(&answer, 1, static_cast<int>(patience.count())) != 1 || ::recv(fd.get(), &byte, 1, 0) != 1 ||
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 1)
        return silent;
    return peer.pid;
}

} // namespace

bool CrioPins::are_used() const {
    return root_->exists(crio) && !somebody_has_list(*root_);
}

Result<Names> CrioPins::names() const {
    Names names;
    if (!root_->exists(crio_pins_file) || !content::is_ours(*root_, crio_pins_file))
        return names;
    GPUHOST_TRY(text, root_->read(crio_pins_file));
    for (std::string_view line : base::split(text, '\n'))
        if (base::starts_with(line, indent)) {
            line.remove_prefix(indent.size());
            names.emplace(line.substr(0, line.find('"')));
        }
    return names;
}

Result<base::UniqueFd> CrioPins::lock() const {
    GPUHOST_TRY(fd, root_->open_file(crio, O_RDONLY | O_DIRECTORY));
    if (::flock(fd.get(), LOCK_EX) < 0)
        return base::fail(Errc::Failed, "can't lock '" + std::string(crio) + "': " + std::strerror(errno));
    return std::move(fd);
}

Result<void> CrioPins::write(const Names& names) const {
    if (!content::is_ours(*root_, crio_pins_file))
        return base::fail(Errc::AlreadyExists, "'" + std::string(crio_pins_file) + "' is not gpuhost's",
                          "Remove what brought it, or move it away.");
    GPUHOST_CHECK(root_->make_directories("/run/gpuhost"));
    GPUHOST_CHECK(root_->write_atomic(untold, ""));
    if (names.empty())
        return root_->remove(crio_pins_file);
    GPUHOST_CHECK(root_->make_directories(crio_conf_d));
    GPUHOST_CHECK(root_->write_atomic(unfinished, text_of(names)));
    return root_->rename(unfinished, crio_pins_file);
}

/// SIGHUP has it read its files anew. One that does not listen may have read them already and be about to: it is told later.
Result<void> CrioPins::tell_crio() const {
    if (!root_->exists(untold))
        return {};
    GPUHOST_TRY(pid, serving_process(root_->host_path(crio_socket), patience_));
    if (pid == 0)
        return {};
    if (::kill(pid, SIGHUP) < 0)
        return base::fail(Errc::Failed, std::string("can't signal CRI-O: ") + std::strerror(errno));
    return root_->remove(untold);
}

Result<void> CrioPins::add(const std::string& name) const {
    if (!are_used())
        return {};
    const auto locked = lock();
    if (!locked)
        return base::fail(locked.error());
    GPUHOST_TRY(names, this->names());
    if (!names.insert(name).second)
        return {};
    GPUHOST_CHECK(write(names));
    return tell_crio();
}

Result<void> CrioPins::retain(const std::function<bool(const std::string&)>& is_wanted) const {
    if (!root_->exists(crio))
        return {};
    const auto locked = lock();
    if (!locked)
        return base::fail(locked.error());
    GPUHOST_TRY(names, this->names());
    const bool used = are_used();
    if (std::erase_if(names, [&](const std::string& name) { return !used || !is_wanted(name); }) != 0)
        GPUHOST_CHECK(write(names));
    return tell_crio();
}

} // namespace gpuhost::images
