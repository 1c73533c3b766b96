// SPDX-License-Identifier: Apache-2.0
// Docker, through docker(1). Docker cannot use another registry for a single pull. An image is therefore
// pulled by digest from this host's registry, under its path in gpuhost-registry(8), and then tagged with its
// name.
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
    /// Fails with Unsupported for an image by digest, because Docker cannot assign such a name.
    [[nodiscard]] base::Result<void> pull(const WantedImage& image, const PullSource& from) const override;

  protected:
    /// For a client with the same verbs. `options` precede the socket's address.
    Docker(std::string client, std::string socket, std::vector<std::string> options)
        : ImageRuntime(std::move(socket)), client_(std::move(client)), options_(std::move(options)) {}

    /// Returns one line for each image: {"tags": its names by tag, "digests": those by digest}, between other
    /// output of the client. May fail if an image is deleted meanwhile.
    [[nodiscard]] virtual base::Result<std::string> describe_all() const;

    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;
    [[nodiscard]] base::Result<void> run_client(std::vector<std::string> words) const;
    /// Fails with Unsupported if the image cannot have that name.
    [[nodiscard]] static base::Result<Reference> taggable(const WantedImage& image);
    /// Returns "127.0.0.1:299/registry.example/app".
    [[nodiscard]] static std::string path_in(const PullSource& source, const Reference& reference);

  private:
    std::string client_;
    std::vector<std::string> options_;
};

} // namespace gpuhost::images
