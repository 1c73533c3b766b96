// SPDX-License-Identifier: Apache-2.0
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
        GPUHOST_TRY(pin, images::Pin::parse(word));
        if (std::find(pins.begin(), pins.end(), pin.text()) == pins.end())
            pins.push_back(pin.text());
    }
    GPUHOST_CHECK(images::write_pins(root, pins));
    return place_pinned(session, root, false);
}

} // namespace

const Verb image_pin_verb{
    "image pin",
    "IMAGE…",
    "keep images in the container runtimes, ahead of need and for good",
    "Adds names, or a shell's patterns over full names, to Pin= of gpuhostd.conf(5) and places what they "
    "fit, as 'image "
    "ensure' does: every containerd and Docker on the host has the newest image by that name, gets it back "
    "when "
    "somebody "
    "removes it, and the kubelet's garbage collector leaves it alone. A name that no bundle has yet is "
    "placed when one "
    "brings it.",
    1,
    1000,
    options,
    run,
};

} // namespace gpuhost::ctl
