// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/image_place.hpp"
#include "daemon/ctl/verbs_image.hpp"
#include "images/pins.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Result;

namespace {

constexpr std::array options{place_root_option, option::json};

Result<int> run(Session& session) {
    GPUHOST_TRY(root, chosen_root(session));
    std::vector<std::string> pins = images::read_pins(root);
    for (const std::string& word : session.arguments().words()) {
        const auto pin = images::Pin::parse(word);
        const auto left = std::remove_if(pins.begin(), pins.end(), [&](const std::string& other) {
            return other == word || (pin && other == pin->text());
        });
        if (left == pins.end())
            return base::fail(base::Errc::NotFound, "'" + word + "' is not pinned",
                              "Pinned: " + (pins.empty() ? "nothing" : base::join(pins, ", ")) + ".");
        pins.erase(left, pins.end());
    }
    GPUHOST_CHECK(images::write_pins(root, pins));
    return place_pinned(session, root, false);
}

} // namespace

const Verb image_unpin_verb{
    "image unpin",
    "IMAGE…",
    "no longer keep images in the container runtimes",
    "Takes names or patterns out of Pin= of gpuhostd.conf(5), as they stand there. The images stay in "
    "the runtimes, "
    "where the kubelet's garbage collector may remove them again.",
    1,
    1000,
    options,
    run,
};

} // namespace gpuhost::ctl
