// SPDX-License-Identifier: Apache-2.0
// Images of containerd, through its client ctr(8), versions 1.6 to 2.4. Uses the containerd namespace
// "k8s.io", which containerd's CRI plugin uses for pods.
#pragma once

#include "images/host/image_runtime.hpp"

namespace gpuhost::images {

class Containerd : public ImageRuntime {
  public:
    Containerd(std::string client, std::string socket)
        : ImageRuntime(std::move(socket)), client_(std::move(client)) {}

    [[nodiscard]] base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const override;
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;
    [[nodiscard]] base::Result<std::set<std::string>> pinned() const override;
    /// The kubelet keeps the image only with containerd 1.7 or later, whose CRI reads the label.
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override;
    [[nodiscard]] base::Result<void> unpin(const std::string& name) const override;

  private:
    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;

    std::string client_;
};

} // namespace gpuhost::images
