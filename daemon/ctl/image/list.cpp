// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/text.hpp"
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
        session.page_list(render_images(session.out(), list),
                          words.empty() ? "No images."
                                        : "No image matches '" + printable(words.front()) + "'.");
    return 0;
}

constexpr std::array examples{Example{"image list", "show all images of this host's bundles"},
                              Example{"image list '*/team/*:v1'", "show those whose full names match"}};

} // namespace

const Verb image_list_verb{
    "image list",
    "[PATTERN]",
    "list the images in this host's registry",
    "Lists the images that container runtimes find in this host's registry, gpuhost-registry(8): name, "
    "platforms, bundle, digest. With PATTERN it lists only those whose full names match: a shell pattern, "
    "such as '*/team/*:v1'; a word without '*', '?' and '[' matches anywhere in the name.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
