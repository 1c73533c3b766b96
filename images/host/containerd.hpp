// SPDX-License-Identifier: Apache-2.0
// containerd, through ctr(8). The namespace is Kubernetes' own, so that the CRI sees what is done here. Versions 1.6 to 2.4
// understand all of it.
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
    /// Since containerd 1.7; before, the label means nothing to it.
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override;
    [[nodiscard]] base::Result<void> unpin(const std::string& name) const override;

  private:
    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;

    std::string client_;
};

} // namespace gpuhost::images
