// SPDX-License-Identifier: Apache-2.0
// containerd, through ctr(8), versions 1.6 to 2.4. Uses Kubernetes' own namespace, so that the CRI sees the
// changes.
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
    /// Has an effect since containerd 1.7, which introduced the label.
    [[nodiscard]] base::Result<void> pin(const std::string& name) const override;
    [[nodiscard]] base::Result<void> unpin(const std::string& name) const override;

  private:
    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;

    std::string client_;
};

} // namespace gpuhost::images
