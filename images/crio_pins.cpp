// SPDX-License-Identifier: Apache-2.0
#include "images/crio_pins.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/file_operation.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::images {

using base::Result;
using base::Root;
using Names = std::set<std::string>;

namespace {

constexpr std::string_view crio = "/etc/crio";
constexpr std::string_view crio_conf = "/etc/crio/crio.conf";
constexpr std::string_view crio_conf_d = "/etc/crio/crio.conf.d";
/// CRI-O reads whatever is in that directory, so a half-written file must not be.
constexpr std::string_view unfinished = "/etc/crio/gpuhost.unfinished";
constexpr std::string_view indent = "    \"";

bool has_list(const Root& root, const std::string& file) {
    const std::string text = root.read(file).value_or("");
    for (const std::string_view line : base::split(text, '\n'))
        if (base::starts_with(base::trim(line), "pinned_images"))
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

/// SIGHUP has it read its files anew. Who listens there is CRI-O; where nobody does, it reads them when it starts.
void tell_crio(const Root& root) {
    const std::string path = root.host_path(crio_socket);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || path.size() >= sizeof address.sun_path)
        return;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 1)
        (void)::kill(peer.pid, SIGHUP);
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

Result<void> CrioPins::write(const Names& names) const {
    if (!content::is_ours(*root_, crio_pins_file))
        return base::fail(base::Errc::AlreadyExists, "'" + std::string(crio_pins_file) + "' is not gpuhost's",
                          "Remove what brought it, or move it away.");
    if (names.empty()) {
        GPUHOST_CHECK(root_->remove(crio_pins_file));
    } else {
        GPUHOST_CHECK(root_->make_directories(crio_conf_d));
        GPUHOST_CHECK(root_->write_atomic(unfinished, text_of(names)));
        GPUHOST_CHECK(root_->rename(unfinished, crio_pins_file));
    }
    tell_crio(*root_);
    return {};
}

Result<void> CrioPins::add(const std::string& name) const {
    if (!are_used())
        return {};
    GPUHOST_TRY(names, this->names());
    return names.insert(name).second ? write(names) : Result<void>();
}

Result<void> CrioPins::remove(const std::string& name) const {
    GPUHOST_TRY(names, this->names());
    return names.erase(name) != 0 ? write(names) : Result<void>();
}

} // namespace gpuhost::images
