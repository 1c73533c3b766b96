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
                               "as imagePullPolicy; left out, by the tag"};
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
                          "--policy needs an image: what is pinned is always up to date");
    if (words.empty())
        return place_pinned(session, root, dry_run);
    GPUHOST_TRY(reference, images::parse_reference(words.front()));
    GPUHOST_TRY(policy, chosen_policy(session, words.front()));
    return place_images(session, root,
                        [&](const images::Placer& placer, const images::Placer::OnText& on_text) {
                            return placer.ensure(reference, policy, dry_run, on_text);
                        });
}

} // namespace

const Verb image_ensure_verb{
    "image ensure",
    "[IMAGE]",
    "have the container runtimes pull an image of a bundle ahead of need",
    "Does for each containerd and Docker on the host, and for CRI-O, or a Podman that gpuhostd.conf(5) "
    "names, what the kubelet would do for a pod with that image and policy: Always pulls unless the runtime "
    "has what the name leads to now, IfNotPresent unless it has anything by that name, Never pulls nothing. "
    "It is pulled from this host's bundles and from nowhere else. Without IMAGE, everything that is pinned, "
    "which gpuhost-images.service does whenever a bundle or a runtime comes. Only root can talk to them.",
    0,
    1,
    options,
    run,
};

} // namespace gpuhost::ctl
