// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/image/place.hpp"
#include "daemon/ctl/image/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using images::PullPolicy;

namespace {

constexpr Option policy_option{"policy", "Always|IfNotPresent|Never",
                               "like a pod's imagePullPolicy; default: by the tag, as the API server does"};
constexpr std::array options{policy_option, place_root_option, option::dry_run, option::json};

Result<PullPolicy> chosen_policy(const Session& session, const std::string& image) {
    const std::string text = session.arguments().value(policy_option).value_or("");
    if (text.empty())
        return images::default_pull_policy(image);
    if (text == "Always")
        return PullPolicy::Always;
    return text == "Never" ? PullPolicy::Never : PullPolicy::IfNotPresent;
}

Result<int> run(Session& session) {
    const auto& words = session.arguments().words();
    const bool dry_run = session.arguments().has(option::dry_run);
    GPUHOST_TRY(root, chosen_root(session));
    if (words.empty() && session.arguments().has(policy_option))
        return base::fail(Errc::InvalidArgument,
                          "--policy needs an image: pinned images are always kept up to date");
    if (words.empty())
        return place_pinned(session, root, dry_run);
    GPUHOST_TRY(reference, images::parse_reference(words.front()));
    GPUHOST_TRY(policy, chosen_policy(session, words.front()));
    return place_images(session, root,
                        [&](const images::Placer& placer, const images::Placer::OnText& on_text) {
                            return placer.ensure(reference, policy, dry_run, on_text);
                        });
}

constexpr std::array examples{
    Example{"image pull", "pull all pinned images that are missing"},
    Example{"image pull team/app:v1 --policy=IfNotPresent", "pull one image, unless a runtime has it"}};

} // namespace

const Verb image_pull_verb{
    "image pull",
    "[IMAGE]",
    "pull an image in advance into the container runtimes",
    "Pulls IMAGE in advance into the container runtimes of this host, only from this host's bundles. The "
    "runtimes are every containerd, Docker, and Podman if CRI-O is installed or gpuhostd.conf(5) names "
    "Podman. It does what the kubelet would do for a pod with that image and policy. Always pulls the image "
    "unless the runtime has the one that the name leads to now; IfNotPresent pulls it unless the runtime has "
    "any image of that name; Never pulls nothing. Without IMAGE it pulls all pinned images, as "
    "gpuhost-images.service does after each new bundle and each start of containerd. Only root may use it.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
