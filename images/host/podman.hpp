// SPDX-License-Identifier: Apache-2.0
// Podman, through podman(1) and its API socket. Podman's own service pulls, so this process needs no rights
// to the storage of layers. CRI-O has its images in the same storage and can pin them there.
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
    /// Adds the image to CRI-O's list, which exists even without Podman. Remove it with CrioPins::retain().
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override { return crio_.add(name); }

  protected:
    /// Describes all images in one call: an image index for other platforms cannot be inspected.
    [[nodiscard]] base::Result<std::string> describe_all() const override;

  private:
    CrioPins crio_;
};

} // namespace gpuhost::images
