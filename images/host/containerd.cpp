// SPDX-License-Identifier: Apache-2.0
#include "images/host/containerd.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::images {

using base::Result;

namespace {

constexpr std::size_t filters_at_once = 200;
constexpr std::string_view namespace_of_kubernetes = "k8s.io";

/// pinned_label is the CRI's label for pinned images, our_label is gpuhost's. pin() sets both. The value of
/// our_label is "pinned" if gpuhost alone pinned the image; unpin() then removes both labels. It is "too" if
/// the image had the CRI's label before; unpin() then keeps the CRI's label.
constexpr std::string_view pinned_label = "io.cri-containerd.pinned";
constexpr std::string_view our_label = "io.gpuhost.pinned";

/// Returns a filter of containerd's images (documented in its Go package "filters") for the wanted state of
/// an image. Names and digests contain no quotes.
std::string filter_of(const WantedImage& image) {
    std::string filter = "name==\"" + image.name + "\"";
    if (!image.any && !image.digest.empty())
        filter += ",target.digest==\"" + image.digest + "\"";
    if (image.pinned)
        filter +=
            ",labels.\"" + std::string(pinned_label) + "\"==pinned,labels.\"" + std::string(our_label) + "\"";
    return filter;
}

/// Returns the image names in the client's output, one on each line. Skips lines with blanks, which are
/// warnings.
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

} // namespace

Result<std::string> Containerd::ask(std::vector<std::string> words) const {
    std::vector<std::string> argv{
        client_, "--address", socket(), "--namespace", std::string(namespace_of_kubernetes), "images"};
    const bool is_pull = words.front() == "pull";
    argv.insert(argv.end(), words.begin(), words.end());
    return ask_client(socket(), std::move(argv), is_pull);
}

Result<std::set<std::string>> Containerd::ready(const std::vector<WantedImage>& wanted) const {
    std::set<std::string> names;
    for (std::size_t at = 0; at < wanted.size(); at += filters_at_once) {
        std::vector<std::string> words{"check", "--quiet"};
        const std::size_t end = std::min(wanted.size(), at + filters_at_once);
        for (std::size_t i = at; i < end; ++i)
            words.push_back(filter_of(wanted[i]));
        const auto output = ask(std::move(words));
        if (!output && end - at == 1 && ask({"list", "--quiet", filter_of(wanted[at])}))
            continue; // some content of the image is missing, so it is not ready; a pull restores it
        if (!output && end - at == 1)
            return base::fail(output.error());
        if (output)
            names.merge(names_of(*output));
        // One damaged image makes the call for several images fail, so each image is then checked alone.
        for (std::size_t i = at; !output && i < end; ++i) {
            GPUHOST_TRY(one, ready({wanted[i]}));
            names.merge(std::move(one));
        }
    }
    return names;
}

Result<std::set<std::string>> Containerd::pinned() const {
    GPUHOST_TRY(output, ask({"list", "--quiet", "labels.\"" + std::string(our_label) + "\""}));
    return names_of(output);
}

/// Pulls with "--local": the client pulls, not containerd's transfer service. The service does not fetch a
/// layer that is already unpacked for any image. An image that was removed a moment ago and is pulled again
/// would therefore stay incomplete.
Result<void> Containerd::pull(const WantedImage& image, const PullSource& from) const {
    std::vector<std::string> words{"pull", "--local", "--hosts-dir", from.hosts, image.name};
    auto pulled = ask(words);
    if (!pulled && pulled.error().message.find("flag provided but not defined") != std::string::npos) {
        words.erase(words.begin() + 1); // ctr 1.6 has neither a transfer service nor this option
        pulled = ask(std::move(words));
    }
    return pulled ? Result<void>() : base::fail(pulled.error());
}

Result<void> Containerd::pin(const std::string& name) const {
    const std::string theirs = "name==\"" + name + "\",labels.\"" + std::string(pinned_label) + "\"==pinned";
    GPUHOST_TRY(listed, ask({"list", "--quiet", theirs}));
    const bool is_pinned =
        names_of(listed).count(name) != 0; // by the CRI (such as the sandbox's image) or by an administrator
    const auto done = ask({"label", name, std::string(pinned_label) + "=pinned",
                           std::string(our_label) + (is_pinned ? "=too" : "=pinned")});
    return done ? Result<void>() : base::fail(done.error());
}

Result<void> Containerd::unpin(const std::string& name) const {
    GPUHOST_TRY(listed, ask({"list", "--quiet",
                             "name==\"" + name + "\",labels.\"" + std::string(our_label) + "\"==pinned"}));
    std::vector<std::string> words{"label", name, std::string(our_label) + "="};
    if (names_of(listed).count(name) != 0) // gpuhost alone pinned it
        words.push_back(std::string(pinned_label) + "=");
    const auto done = ask(std::move(words));
    return done ? Result<void>() : base::fail(done.error());
}

} // namespace gpuhost::images
