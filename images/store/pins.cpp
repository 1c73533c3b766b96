// SPDX-License-Identifier: Apache-2.0
#include "images/store/pins.hpp"

#include "daemon/core/settings_drop_in.hpp"
#include "images/bundle/reference.hpp"
#include "images/images_settings.hpp"

#include <fnmatch.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t most_pins = 10'000;

constexpr core::ListDropIn pins_list{"/etc/gpuhost/gpuhostd.conf.d/50-pinned-images.conf",
                                     "gpuhostctl image pin and unpin", "Images", "Pin"};

} // namespace

Result<Pin> Pin::parse(std::string_view text) {
    if (text.find_first_of(" \t\n\"'\\;#") != std::string_view::npos)
        return base::fail(Errc::InvalidArgument,
                          "'" + std::string(text) + "' is neither an image name nor a pattern");
    if (text.find_first_of("*?[") != std::string_view::npos)
        return Pin(std::string(text), true);
    GPUHOST_TRY(reference, parse_reference(text));
    if (!reference.digest.empty())
        return base::fail(Errc::InvalidArgument,
                          "'" + std::string(text) + "' has a digest, but pins select by name",
                          "Pin the name that pods use.");
    return Pin(reference.text(), false);
}

bool Pin::fits(const std::string& full_name) const {
    return pattern_ ? ::fnmatch(text_.c_str(), full_name.c_str(), 0) == 0 : text_ == full_name;
}

std::vector<Pin> pins_of(const std::vector<std::string>& words) {
    std::vector<Pin> pins;
    for (const std::string& word : words)
        if (const auto pin = Pin::parse(word))
            pins.push_back(*pin);
        else
            pins.push_back(Pin::parse("[]").value()); // an empty set of characters: matches nothing
    return pins;
}

std::vector<std::string> read_pins(const base::Root& root) {
    return core::read_list(root, images_setting_keys(), pins_list);
}

Result<void> write_pins(const base::Root& root, const std::vector<std::string>& pins) {
    if (pins.size() > most_pins)
        return base::fail(Errc::InvalidArgument, "more than " + std::to_string(most_pins) + " pins",
                          "Pin images by a pattern.");
    return core::write_list(root, images_setting_keys(), pins_list, pins);
}

} // namespace gpuhost::images
