// SPDX-License-Identifier: Apache-2.0
// Docker, through docker(1). It can't be told for one pull that a name's registry is another one: so an image is pulled by
// digest from this host's, under the path that gpuhost-registry(8) has for it, and then gets its name.
#pragma once

#include "images/bundle/reference.hpp"
#include "images/host/image_runtime.hpp"

namespace gpuhost::images {

class Docker : public ImageRuntime {
  public:
    Docker(std::string client, std::string socket)
        : Docker(std::move(client), std::move(socket), {"--host"}) {}

    [[nodiscard]] base::Result<std::set<std::string>>
    ready(const std::vector<WantedImage>& wanted) const override;
    /// Unsupported for an image by digest: such a name can't be given.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;

  protected:
    /// Of a client with the same verbs; `options` come before the socket's address.
    Docker(std::string client, std::string socket, std::vector<std::string> options)
        : ImageRuntime(std::move(socket)), client_(std::move(client)), options_(std::move(options)) {}

    /// A line an image: {"tags": its names by tag, "digests": those by digest}, and what else its client says. May fail where
    /// an image is deleted meanwhile.
    [[nodiscard]] virtual base::Result<std::string> describe_all() const;

    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;
    [[nodiscard]] base::Result<void> tell(std::vector<std::string> words) const;
    /// Unsupported where the image can't get that name.
    [[nodiscard]] static base::Result<Reference> taggable(const WantedImage& image);
    /// "127.0.0.1:299/registry.example/app".
    [[nodiscard]] static std::string path_in(const PullSource& source, const Reference& reference);

  private:
    std::string client_;
    std::vector<std::string> options_;
};

} // namespace gpuhost::images
