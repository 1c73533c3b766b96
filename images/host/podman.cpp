// SPDX-License-Identifier: Apache-2.0
#include "images/host/podman.hpp"

namespace gpuhost::images {

using base::Result;

Result<std::string> Podman::describe_all() const {
    return ask({"image", "ls", "--format", R"({"tags":{{json .Names}},"digests":{{json .RepoDigests}}})"});
}

Result<std::set<std::string>> Podman::ready(const std::vector<WantedImage>& wanted) const {
    GPUHOST_TRY(names, Docker::ready(wanted));
    if (!crio_.are_used())
        return std::move(names);
    GPUHOST_TRY(kept, crio_.names());
    for (const WantedImage& image : wanted)
        if (image.pinned && kept.count(image.name) == 0)
            names.erase(image.name);
    return std::move(names);
}

/// Pulls by tag, not by digest: Podman cannot remove a name by digest from an image. Such a name would keep
/// the image in the storage after the tag refers to a newer one. The caller calls ready() afterwards, which
/// compares the digest.
Result<void> Podman::pull(const WantedImage& image, const PullSource& from) const {
    GPUHOST_TRY(reference, taggable(image));
    const std::string here = path_in(from, reference) + ":" + reference.tag;
    GPUHOST_CHECK(run_client({"pull", "--quiet", "--tls-verify=false", here}));
    GPUHOST_CHECK(run_client({"tag", here, image.name}));
    return run_client({"untag", image.name, here});
}

} // namespace gpuhost::images
