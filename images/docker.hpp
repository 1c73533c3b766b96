// SPDX-License-Identifier: Apache-2.0
// Docker, through docker(1). It can't be told for one pull that a name's registry is another one: so an image is pulled by
// digest from this host's, under the path that gpuhost-registry(8) has for it, and then gets its name.
#pragma once

#include "images/image_runtime.hpp"

namespace gpuhost::images {

class Docker : public ImageRuntime {
  public:
    Docker(std::string client, std::string socket)
        : ImageRuntime(std::move(socket)), client_(std::move(client)) {}

    [[nodiscard]] base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const override;
    /// Unsupported for an image by digest: such a name can't be given.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;

  private:
    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;
    /// What its client says of all images. Fails where one was deleted meanwhile.
    [[nodiscard]] base::Result<std::string> inspect_all() const;

    std::string client_;
};

} // namespace gpuhost::images
