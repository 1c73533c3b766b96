// SPDX-License-Identifier: Apache-2.0
// Podman, through podman(1) and the socket of its API: so what pulls is Podman's own service, and who asks needs none of
// the rights that a storage of layers takes. CRI-O has its images in the same storage, and can keep them there.
#pragma once

#include "images/host/crio_pins.hpp"
#include "images/host/docker.hpp"

namespace gpuhost::images {

class Podman : public Docker {
  public:
    /// `root` must outlive it.
    Podman(const base::Root& root, std::string client, std::string socket)
        : Docker(std::move(client), std::move(socket), {"--remote", "--url"}), crio_(root) {}

    [[nodiscard]] base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const override;
    /// Unsupported for an image by digest, as Docker's.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;
    /// In CRI-O's list, which is there without Podman too: whoever asked for it has CrioPins::retain() take it out.
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override { return crio_.add(name); }

  protected:
    /// All at once: an image that is a list for other machines can't be inspected.
    [[nodiscard]] base::Result<std::string> describe_all() const override;

  private:
    CrioPins crio_;
};

} // namespace gpuhost::images
