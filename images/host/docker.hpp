// SPDX-License-Identifier: Apache-2.0
// Images of Docker, through docker(1). Docker cannot use a different registry for a single pull. An image is
// therefore pulled by digest under its name in this host's registry ("127.0.0.1:299/registry.example/app").
// Then it is tagged with its own name.
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
    /// Makes an object for another client with the same verbs, such as podman(1). `options` are the words
    /// before the socket's address on the client's command line.
    Docker(std::string client, std::string socket, std::vector<std::string> options)
        : ImageRuntime(std::move(socket)), client_(std::move(client)), options_(std::move(options)) {}

    /// Returns one line for each image in the runtime: {"tags": its names by tag, "digests": its names by
    /// digest}. Other output of the client may be between the lines. May fail if an image is deleted
    /// meanwhile.
    [[nodiscard]] virtual base::Result<std::string> describe_all() const;

    /// Run the client with these words after its options. ask() returns the output, run_client() discards it.
    [[nodiscard]] base::Result<std::string> ask(std::vector<std::string> words) const;
    [[nodiscard]] base::Result<void> run_client(std::vector<std::string> words) const;
    /// Parses the image's name. Fails with Unsupported for a name by digest, and for a registry that cannot
    /// be a component of a path.
    [[nodiscard]] static base::Result<Reference> taggable(const WantedImage& image);
    /// Returns the repository's name in this host's registry: "127.0.0.1:299/registry.example/app".
    [[nodiscard]] static std::string path_in(const PullSource& source, const Reference& reference);

  private:
    std::string client_;
    std::vector<std::string> options_;
};

} // namespace gpuhost::images
