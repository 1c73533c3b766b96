// SPDX-License-Identifier: Apache-2.0
// The image functions of a container runtime on this host, through its own client.
#pragma once

#include "daemon/base/root.hpp"
#include "images/images_settings.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The wanted state of an image in a runtime.
struct WantedImage {
    std::string name;   ///< full name, by tag or by digest
    std::string digest; ///< "sha256:<hex>" that this host has for the name; empty if no bundle has it
    bool pinned = false;
    bool any = false; ///< any image of that name is good enough

    friend auto operator<=>(const WantedImage&, const WantedImage&) = default;
};

/// The only registry from which a runtime pulls: this host's.
struct PullSource {
    std::string address; ///< "127.0.0.1:299"
    std::string hosts;   ///< a directory with its hosts.toml (containerd's docs/hosts.md)
};

class ImageRuntime {
  public:
    explicit ImageRuntime(std::string socket) : socket_(std::move(socket)) {}
    virtual ~ImageRuntime() = default;
    ImageRuntime(const ImageRuntime&) = delete;
    ImageRuntime& operator=(const ImageRuntime&) = delete;

    /// Identifies the runtime for people.
    [[nodiscard]] const std::string& socket() const { return socket_; }

    /// Returns the names of the images that are in the wanted state, ready to run. Leaves out an image that
    /// has lost a wanted pin.
    [[nodiscard]] virtual base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const = 0;
    /// Pulls an image. The name refers to that digest afterwards.
    [[nodiscard]] virtual base::Result<void> pull(const WantedImage& image, const PullSource& from) const = 0;
    /// Returns the names that pin() pinned; none if the runtime cannot pin.
    [[nodiscard]] virtual base::Result<std::set<std::string>> pinned() const {
        return std::set<std::string>();
    }
    /// Protects the image from the kubelet's garbage collector.
    [[nodiscard]] virtual base::Result<void> pin(const std::string&) const { return {}; }
    [[nodiscard]] virtual base::Result<void> unpin(const std::string&) const { return {}; }

  private:
    std::string socket_;
};

/// The runtimes of the settings whose sockets exist. A socket without a client is a problem. `root` must
/// outlive them.
struct ImageRuntimes {
    std::vector<std::shared_ptr<const ImageRuntime>> found;
    std::vector<std::string> problems;
};
[[nodiscard]] ImageRuntimes find_image_runtimes(const base::Root& root, const ImageRuntimeSettings& settings);

/// Runs a client and returns its output, including standard error. Fails on a non-zero status, with the last
/// line of output, and on a timeout.
[[nodiscard]] base::Result<std::string> ask_client(const std::string& socket, std::vector<std::string> argv,
                                                   bool is_pull);

} // namespace gpuhost::images
