// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/image/place.hpp"
#include "daemon/ctl/image/verbs.hpp"
#include "images/host/image_documents.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{place_root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, chosen_root(session));
    GPUHOST_TRY(references, images::References::load(root));
    GPUHOST_TRY(image, images::show_image(root, references, session.arguments().words().front()));
    if (session.wants_json())
        session.print_json(image);
    else
        session.page(render_image(session.out(), image));
    return 0;
}

constexpr std::array examples{Example{"image show team/app:v1", "show where a name leads to"}};

} // namespace

const Verb image_show_verb{
    "image show",
    "IMAGE",
    "show which image a name leads to",
    "Shows the image that a name leads to: digest, platforms, its bundle and the bundle's generation. Also "
    "shows whether the store has all of it, and the other bundles with that name. Short names mean what they "
    "mean to containerd: busybox is docker.io/library/busybox:latest.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
