// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/image/place.hpp"
#include "daemon/ctl/image/verbs.hpp"
#include "images/host/image_documents.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{place_root_option, option::json};

base::Result<int> run(Session& session) {
    const auto& words = session.arguments().words();
    GPUHOST_TRY(root, chosen_root(session));
    GPUHOST_TRY(references, images::References::load(root));
    const base::Json list = images::list_images(references, words.empty() ? std::string() : words.front());
    if (session.wants_json())
        session.print_json(list);
    else
        session.print(render_images(session.out(), list, !words.empty()));
    return 0;
}

} // namespace

const Verb image_list_verb{
    "image list",
    "[PATTERN]",
    "list the images that container runtimes find here",
    "Lists every image by the name that pods call it: its digest, and the bundle that has it. With a PATTERN "
    "only those whose "
    "names it fits: a shell's, as '*/team/*:v1'; a word without '*', '?' and '[' may stand anywhere in the "
    "name.",
    0,
    1,
    options,
    run,
};

} // namespace gpuhost::ctl
