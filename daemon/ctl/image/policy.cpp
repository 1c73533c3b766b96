// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/image/place.hpp"
#include "daemon/ctl/image/verbs.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Json;
using base::Result;
using images::PullPolicy;

namespace {

constexpr std::array options{place_root_option, option::json};
constexpr std::array<std::pair<std::string_view, PullPolicy>, 3> policies{
    {{"Always", PullPolicy::Always},
     {"IfNotPresent", PullPolicy::IfNotPresent},
     {"Never", PullPolicy::Never}}};

std::string_view name(PullPolicy policy) {
    for (const auto& [name, value] : policies)
        if (value == policy)
            return name;
    return "";
}

/// Returns what the kubelet would do with the image on this runtime.
std::string outcome(const Json& image) {
    const std::string state = text_of(image, "state");
    if (state == "present")
        return "uses the present image";
    return state == "wanted" ? "pulls " + text_of(image, "digest") : "fails: " + text_of(image, "why");
}

std::string outcome_of(const Json& report) {
    const auto problems = base::strings_or_empty(report, "problems");
    if (!problems.empty())
        return "fails: " + problems.front();
    std::string text;
    for (const Json& image : list_of(report, "images"))
        text += (text.empty() ? "" : "; ") + outcome(image) + " (" + text_of(image, "runtime") + ")";
    return text.empty() ? "no container runtime found on this host" : text;
}

Result<int> run(Session& session) {
    const std::string& word = session.arguments().words().front();
    GPUHOST_TRY(root, chosen_root(session));
    GPUHOST_TRY(reference, images::parse_reference(word));
    GPUHOST_TRY(placer, open_placer(root));
    Json answer{{"name", reference.text()}, {"default", name(images::default_pull_policy(word))}};
    Facts facts;
    facts.add("Image", text_of(answer, "name"));
    facts.add("Default", text_of(answer, "default"));
    for (const auto& [policy, value] : policies) {
        const Json report = to_json(placer.ensure(reference, value, true));
        answer["policies"][std::string(policy)] = report;
        facts.add(std::string(policy), outcome_of(report));
    }
    if (session.wants_json())
        session.print_json(answer);
    else
        session.page(facts.render(session.out()));
    return 0;
}

constexpr std::array examples{Example{"image policy team/app:v1", "show what each pull policy would do now"}};

} // namespace

const Verb image_policy_verb{
    "image policy",
    "IMAGE",
    "show what each pull policy would do on this host",
    "Shows the imagePullPolicy of a pod with that image that names none. Also shows what each policy would "
    "do now in every container runtime on the host that images are placed in. Changes nothing. Only root may "
    "use it.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
