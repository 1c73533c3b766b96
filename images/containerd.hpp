// SPDX-License-Identifier: Apache-2.0
// A containerd on this host, through its own client, ctr(8): what images it has, and how it gets one from our registry.
//
// The namespace is Kubernetes' own, so that the CRI sees what is done here. Versions 1.6 to 2.4 understand all of it.
#pragma once

#include "daemon/base/root.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// An image as a runtime is to have it.
struct WantedImage {
    std::string name;   ///< in its full form, by tag or by digest
    std::string digest; ///< "sha256:<hex>"; empty: any
    bool pinned = false;

    friend auto operator<=>(const WantedImage&, const WantedImage&) = default;
};

class Containerd {
  public:
    Containerd(std::string client, std::string socket)
        : client_(std::move(client)), socket_(std::move(socket)) {}

    [[nodiscard]] const std::string& socket() const { return socket_; }

    /// Names of those that are there as they are wanted, with all of their content and unpacked.
    [[nodiscard]] base::Result<std::set<std::string>> ready(const std::vector<WantedImage>& wanted) const;
    /// Names of those that pin() pinned.
    [[nodiscard]] base::Result<std::set<std::string>> pinned() const;
    /// `hosts` is a directory as containerd's docs/hosts.md describes it. `on_line` is told what the client says.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const std::string& hosts,
                                          const std::function<void(std::string_view)>& on_line = {}) const;
    /// Keeps it from the kubelet's garbage collector (since containerd 1.7; before, the label means nothing).
    [[nodiscard]] base::Result<void> pin(const std::string& name) const;
    [[nodiscard]] base::Result<void> unpin(const std::string& name) const;

  private:
    [[nodiscard]] base::Result<std::string>
    ask(std::vector<std::string> words, const std::function<void(std::string_view)>& on_line = {}) const;

    std::string client_;
    std::string socket_;
};

/// Of those sockets, "SOCKET" or "SOCKET=CTR", the ones that exist. A socket without a client is one of the problems.
struct Containerds {
    std::vector<Containerd> found;
    std::vector<std::string> problems;
};
[[nodiscard]] Containerds find_containerds(const base::Root& root, const std::vector<std::string>& sockets);

} // namespace gpuhost::images
