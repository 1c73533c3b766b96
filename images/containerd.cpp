// SPDX-License-Identifier: Apache-2.0
#include "images/containerd.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::chrono::minutes answer_time{1};
constexpr std::chrono::hours pull_time{2}; ///< of one image, from this host's own disk
constexpr std::size_t filters_at_once = 200;
constexpr std::string_view namespace_of_kubernetes = "k8s.io";

/// What the CRI calls pinned, and what says that it was us.
constexpr std::string_view pinned_label = "io.cri-containerd.pinned";
constexpr std::string_view our_label = "io.gpuhost.pinned";

/// Where distributions, RKE2 and k3s have it; any of them can talk to any containerd.
constexpr std::array clients{"/usr/bin/ctr", "/usr/local/bin/ctr", "/var/lib/rancher/rke2/bin/ctr",
                             "/var/lib/rancher/k3s/data/current/bin/ctr"};

/// docs of containerd's package filters. Names and digests have no quotes in them.
std::string filter_of(const WantedImage& image) {
    std::string filter = "name==\"" + image.name + "\"";
    if (!image.digest.empty())
        filter += ",target.digest==\"" + image.digest + "\"";
    for (const std::string_view label : {pinned_label, our_label})
        if (image.pinned)
            filter += ",labels.\"" + std::string(label) + "\"==pinned";
    return filter;
}

/// A line each; between them the client warns, in sentences.
std::set<std::string> names_of(std::string_view text) {
    std::set<std::string> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!line.empty() && line.find(' ') == std::string_view::npos)
            lines.emplace(line);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return lines;
}

/// The last line of what a client said is its error.
std::string last_line(const std::string& output) {
    const std::size_t end = output.find_last_not_of("\r\n");
    if (end == std::string::npos)
        return "no reason given";
    const std::size_t begin = output.find_last_of("\r\n", end);
    return output.substr(begin == std::string::npos ? 0 : begin + 1,
                         end - (begin == std::string::npos ? -1 : begin));
}

std::optional<std::string> client() {
    const auto found = std::find_if(clients.begin(), clients.end(),
                                    [](const char* path) { return ::access(path, X_OK) == 0; });
    return found == clients.end() ? std::nullopt : std::optional<std::string>(*found);
}

} // namespace

Result<std::string> Containerd::ask(std::vector<std::string> words,
                                    const std::function<void(std::string_view)>& on_line) const {
    base::Command command;
    command.argv = {client_, "--address", socket_, "--namespace", std::string(namespace_of_kubernetes),
                    "images"};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.deadline = words.front() == "pull" ? std::chrono::milliseconds(pull_time) : answer_time;
    command.output_limit = std::size_t{16} << 20U;
    command.on_line = on_line;
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, socket_ + ": no answer from containerd in time",
                          "See 'systemctl status containerd'.");
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed, socket_ + ": " + last_line(finished.output));
    return std::move(finished.output);
}

Result<std::set<std::string>> Containerd::ready(const std::vector<WantedImage>& wanted) const {
    std::set<std::string> names;
    for (std::size_t at = 0; at < wanted.size(); at += filters_at_once) {
        std::vector<std::string> words{"check", "--quiet"};
        for (std::size_t i = at; i < std::min(wanted.size(), at + filters_at_once); ++i)
            words.push_back(filter_of(wanted[i]));
        GPUHOST_TRY(output, ask(std::move(words)));
        names.merge(names_of(output));
    }
    return names;
}

Result<std::set<std::string>> Containerd::pinned() const {
    GPUHOST_TRY(output, ask({"list", "--quiet", "labels.\"" + std::string(our_label) + "\"==pinned"}));
    return names_of(output);
}

/// By the client, not by containerd's transfer service: that leaves out a layer while anybody has it unpacked, so that
/// of an image which was removed a moment ago the content stays incomplete.
Result<void> Containerd::pull(const WantedImage& image, const std::string& hosts,
                              const std::function<void(std::string_view)>& on_line) const {
    std::vector<std::string> words{"pull", "--local", "--hosts-dir", hosts, image.name};
    auto pulled = ask(words, on_line);
    if (!pulled && pulled.error().message.find("flag provided but not defined") != std::string::npos) {
        words.erase(words.begin() + 1); // 1.6, which knows no other way
        pulled = ask(std::move(words), on_line);
    }
    return pulled ? Result<void>() : base::fail(pulled.error());
}

Result<void> Containerd::pin(const std::string& name) const {
    const auto done =
        ask({"label", name, std::string(pinned_label) + "=pinned", std::string(our_label) + "=pinned"});
    return done ? Result<void>() : base::fail(done.error());
}

Result<void> Containerd::unpin(const std::string& name) const {
    const auto done = ask({"label", name, std::string(pinned_label) + "=", std::string(our_label) + "="});
    return done ? Result<void>() : base::fail(done.error());
}

Containerds find_containerds(const base::Root& root, const std::vector<std::string>& sockets) {
    Containerds all;
    for (const std::string& word : sockets) {
        const std::size_t at = word.find('=');
        const std::string socket = word.substr(0, at);
        if (!root.exists(socket))
            continue;
        const auto program = at == std::string::npos ? client() : word.substr(at + 1);
        if (program)
            all.found.emplace_back(*program, root.host_path(socket));
        else
            all.problems.push_back(socket + ": ctr, containerd's client, is not installed");
    }
    return all;
}

} // namespace gpuhost::images
