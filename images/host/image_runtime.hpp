// SPDX-License-Identifier: Apache-2.0
// A container runtime on this host, as far as images are concerned: asked through its own client.
#pragma once

#include "daemon/base/root.hpp"
#include "images/images_settings.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// An image as a runtime is to have it.
struct WantedImage {
    std::string name;   ///< in its full form, by tag or by digest
    std::string digest; ///< "sha256:<hex>", what the name leads to here; empty where no bundle has it
    bool pinned = false;
    bool any = false; ///< whatever the runtime has by that name will do

    friend auto operator<=>(const WantedImage&, const WantedImage&) = default;
};

/// Where a runtime pulls from: this host's registry, and nothing else.
struct PullSource {
    std::string address; ///< "127.0.0.1:299"
    std::string hosts;   ///< a directory that leads to it, as containerd's docs/hosts.md describes one
};

class ImageRuntime {
  public:
    explicit ImageRuntime(std::string socket) : socket_(std::move(socket)) {}
    virtual ~ImageRuntime() = default;
    ImageRuntime(const ImageRuntime&) = delete;
    ImageRuntime& operator=(const ImageRuntime&) = delete;

    /// By which people tell runtimes apart.
    [[nodiscard]] const std::string& socket() const { return socket_; }

    /// Names of those that are there as they are wanted, ready to run.
    [[nodiscard]] virtual base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const = 0;
    /// After it the name leads to that digest.
    [[nodiscard]] virtual base::Result<void> pull(const WantedImage& image, const PullSource& from) const = 0;
    /// Names of those that pin() pinned. A runtime that pins nothing has none, and what it loses is put back.
    [[nodiscard]] virtual base::Result<std::set<std::string>> pinned() const {
        return std::set<std::string>();
    }
    /// Keeps it from the kubelet's garbage collector.
    [[nodiscard]] virtual base::Result<void> pin(const std::string&) const { return {}; }
    [[nodiscard]] virtual base::Result<void> unpin(const std::string&) const { return {}; }

  private:
    std::string socket_;
};

/// Those of the settings whose sockets exist. A socket without a client is one of the problems. `root` must outlive them.
struct ImageRuntimes {
    std::vector<std::shared_ptr<const ImageRuntime>> found;
    std::vector<std::string> problems;
};
[[nodiscard]] ImageRuntimes find_image_runtimes(const base::Root& root, const RuntimeSettings& settings);

/// Runs a client; a status other than 0, or no end in time, is an Error with the last line that it said. Standard error is
/// in the output too.
[[nodiscard]] base::Result<std::string> ask_client(const std::string& socket, std::vector<std::string> argv,
                                                   bool is_pull);

} // namespace gpuhost::images
