// SPDX-License-Identifier: Apache-2.0
// Manages the images of a container runtime on this host, by running the runtime's own client (ctr, docker,
// podman).
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
    std::string name; ///< full name, by tag or by digest
    /// "sha256:<hex>" of the name's image in bundles on this host; empty if no bundle has it.
    std::string digest;
    bool pinned = false;
    bool any = false; ///< true: an image of that name with another digest is good enough

    friend auto operator<=>(const WantedImage&, const WantedImage&) = default;
};

/// The registry from which ImageRuntime::pull() pulls: gpuhost-registry on this host, and no other.
struct PullSource {
    std::string address; ///< "127.0.0.1:299"
    /// A directory in the form of certs.d. The hosts.toml in it names `address` (containerd's docs/hosts.md).
    std::string hosts;
};

class ImageRuntime {
  public:
    explicit ImageRuntime(std::string socket) : socket_(std::move(socket)) {}
    virtual ~ImageRuntime() = default;
    ImageRuntime(const ImageRuntime&) = delete;
    ImageRuntime& operator=(const ImageRuntime&) = delete;

    /// Returns the path of its socket, which identifies the runtime in messages.
    [[nodiscard]] const std::string& socket() const { return socket_; }

    /// Returns those names in `wanted` whose images are in the wanted state: present with the digest,
    /// complete, and pinned if `pinned` is set.
    [[nodiscard]] virtual base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const = 0;
    /// Pulls an image from this host's registry. Afterwards WantedImage::name refers to WantedImage::digest
    /// in the runtime.
    [[nodiscard]] virtual base::Result<void> pull(const WantedImage& image, const PullSource& from) const = 0;
    /// Returns the names of the images that pin() pinned and unpin() did not unpin; none if the runtime
    /// cannot pin.
    [[nodiscard]] virtual base::Result<std::set<std::string>> pinned() const {
        return std::set<std::string>();
    }
    /// Protects the image from the kubelet's garbage collector. Does nothing if the runtime cannot do that.
    [[nodiscard]] virtual base::Result<void> pin(const std::string&) const { return {}; }
    /// Undoes pin().
    [[nodiscard]] virtual base::Result<void> unpin(const std::string&) const { return {}; }

  private:
    std::string socket_;
};

/// The runtimes in the settings whose sockets exist. `problems` has a sentence for each socket whose client
/// is not installed. `root` must outlive the runtimes.
struct ImageRuntimes {
    std::vector<std::shared_ptr<const ImageRuntime>> found;
    std::vector<std::string> problems;
};
[[nodiscard]] ImageRuntimes find_image_runtimes(const base::Root& root, const ImageRuntimeSettings& settings);

/// Runs the client of a runtime and returns its standard output and standard error together. If the exit
/// status is not 0, fails with the last line of the output. Fails with Timeout after 1 minute; with
/// `is_pull`, after 2 hours.
[[nodiscard]] base::Result<std::string> ask_client(const std::string& socket, std::vector<std::string> argv,
                                                   bool is_pull);

} // namespace gpuhost::images
