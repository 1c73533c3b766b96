// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/image/place.hpp"
#include "daemon/ctl/image/verbs.hpp"
#include "images/store/pins.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Result;

namespace {

using Pins = std::vector<std::string>;
constexpr std::array options{place_root_option, option::json};

Result<void> add(Pins& pins, const std::string& word) {
    GPUHOST_TRY(pin, images::Pin::parse(word));
    if (std::find(pins.begin(), pins.end(), pin.text()) == pins.end())
        pins.push_back(pin.text());
    return {};
}

Result<void> unpin(Pins& pins, const std::string& word) {
    const auto pin = images::Pin::parse(word);
    const auto left = std::remove_if(pins.begin(), pins.end(), [&](const std::string& other) {
        return other == word || (pin && other == pin->text());
    });
    if (left == pins.end())
        return base::fail(base::Errc::NotFound, "'" + word + "' is not pinned",
                          "Pinned: " + (pins.empty() ? "nothing" : base::join(pins, ", ")) + ".");
    pins.erase(left, pins.end());
    return {};
}

/// Changes all pins or none, then places the pinned images.
template <Result<void> (*change)(Pins&, const std::string&)>
Result<int> run(Session& session) {
    GPUHOST_TRY(root, chosen_root(session));
    Pins pins = images::read_pins(root);
    for (const std::string& word : session.arguments().words())
        GPUHOST_CHECK(change(pins, word));
    GPUHOST_CHECK(images::write_pins(root, pins));
    return place_pinned(session, root, false);
}

} // namespace

const Verb image_pin_verb{
    "image pin",
    "IMAGE…",
    "keep images in the container runtimes, ahead of need and for good",
    "Adds names, or a shell's patterns over full names, to Pin= of gpuhostd.conf(5) and places what they "
    "fit, as 'image ensure' does: each of those container runtimes has the newest image by that "
    "name, gets it back when somebody removes it, and the kubelet's garbage collector leaves it alone. A "
    "name that no bundle has yet is placed when one brings it.",
    1,
    1000,
    options,
    run<add>,
};

const Verb image_unpin_verb{
    "image unpin",
    "IMAGE…",
    "no longer keep images in the container runtimes",
    "Takes names or patterns out of Pin= of gpuhostd.conf(5), as they stand there. The images stay in the "
    "runtimes, where the kubelet's garbage collector may remove them again.",
    1,
    1000,
    options,
    run<unpin>,
};

} // namespace gpuhost::ctl
