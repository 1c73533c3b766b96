// SPDX-License-Identifier: Apache-2.0
// Images of Podman, through podman(1) and Podman's API socket. Podman's service pulls, so this process needs
// no access to the storage of layers. CRI-O uses the same storage, so its pods find these images, and its
// list of pinned images protects them.
#pragma once

#include "images/host/crio_pins.hpp"
#include "images/host/docker.hpp"

namespace gpuhost::images {

class Podman : public Docker {
  public:
    /// `root` must outlive the object.
    Podman(const base::Root& root, std::string client, std::string socket)
        : Docker(std::move(client), std::move(socket), {"--remote", "--url"}), crio_(root) {}

    [[nodiscard]] base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const override;
    /// Fails with Unsupported for an image by digest, like Docker.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;
    /// Adds the image to CRI-O's list of pinned images. unpin() does nothing: remove the image from the list
    /// with CrioPins::retain(), which also works on a host without Podman.
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override { return crio_.add(name); }

  protected:
    /// Uses "image ls" for all images at once, because "image inspect" fails for an index without an image
    /// for this platform.
    [[nodiscard]] base::Result<std::string> describe_all() const override;

  private:
    CrioPins crio_;
};

} // namespace gpuhost::images
