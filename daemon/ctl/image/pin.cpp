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

/// Changes all of the named pins, or none after an error. Then places the pinned images.
template <Result<void> (*change)(Pins&, const std::string&)>
Result<int> run(Session& session) {
    GPUHOST_TRY(root, chosen_root(session));
    Pins pins = images::read_pins(root);
    for (const std::string& word : session.arguments().words())
        GPUHOST_CHECK(change(pins, word));
    GPUHOST_CHECK(images::write_pins(root, pins));
    return place_pinned(session, root, false);
}

constexpr std::array pin_examples{
    Example{"image pin 'registry.example/team/*'", "keep all images of a team in the container runtimes"}};
constexpr std::array unpin_examples{Example{"image unpin 'registry.example/team/*'", "no longer keep them"}};

} // namespace

const Verb image_pin_verb{
    "image pin",
    "IMAGE…",
    "keep images in the container runtimes",
    "Keeps images in the container runtimes that 'image pull' places them in. Adds names, or shell "
    "patterns for full names, to Pin= of gpuhostd.conf(5), and places the matching images like 'image "
    "pull'. If a newer bundle moves a tag, its image is pulled again; so is an image that was removed. The "
    "kubelet's garbage collector keeps pinned images. A name that is not in any bundle yet is pulled when a "
    "bundle with it is imported.",
    1,
    1000,
    options,
    run<add>,
    pin_examples,
};

const Verb image_unpin_verb{
    "image unpin",
    "IMAGE…",
    "no longer keep images in the container runtimes",
    "Removes names or patterns, as written there, from Pin= of gpuhostd.conf(5). The images stay until the "
    "kubelet's garbage collector or a user removes them.",
    1,
    1000,
    options,
    run<unpin>,
    unpin_examples,
};

} // namespace gpuhost::ctl
