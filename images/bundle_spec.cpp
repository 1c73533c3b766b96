// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "images/create.hpp"
#include "images/reference.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view image_prefix = "Image ";

Result<void> set_bundle(BundleSpec& spec, const base::IniEntry& entry, const std::string& where) {
    if (entry.key == "Name") {
        if (!is_bundle_name(entry.value))
            return base::fail(Errc::InvalidArgument, where + ": '" + entry.value + "' is no name of a bundle",
                              "Up to 64 small letters and digits, with '.', '_' and '-' between them.");
        spec.name = entry.value;
        return {};
    }
    if (entry.key != "Generation")
        return base::fail(Errc::InvalidArgument, where + ": unknown key '" + entry.key + "' in [Bundle]");
    const auto generation = base::parse_uint(entry.value);
    if (!generation || *generation > (std::uint64_t{1} << 50U))
        return base::fail(Errc::InvalidArgument, where + ": '" + entry.value + "' is no generation",
                          "A number that grows with every bundle of that name.");
    spec.generation = *generation;
    return {};
}

Result<void> set_image(BundleSpec& spec, const base::IniEntry& entry, const std::string& where) {
    GPUHOST_TRY(reference,
                parse_reference(base::trim(std::string_view(entry.section).substr(image_prefix.size()))));
    if (!reference.digest.empty())
        return base::fail(Errc::InvalidArgument, where + ": an image is named by its tag, not by a digest");
    const std::string name = reference.text();
    auto image = std::find_if(spec.images.begin(), spec.images.end(),
                              [&](const ImageSource& known) { return known.name == name; });
    if (image == spec.images.end())
        image = spec.images.insert(spec.images.end(), ImageSource{name, {}, {}, {}, where});
    if (entry.key == "Layout")
        image->layout = entry.value;
    else if (entry.key == "Reference")
        image->reference = entry.value;
    else if (entry.key == "Platforms")
        image->platforms = base::split_words(entry.value);
    else
        return base::fail(Errc::InvalidArgument, where + ": unknown key '" + entry.key + "' in [Image]");
    return {};
}

} // namespace

Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what) {
    const base::IniFile file = base::parse_ini(text);
    if (!file.problems.empty())
        return base::fail(Errc::InvalidArgument, std::string(what) + ": " + file.problems.front());
    BundleSpec spec;
    for (const base::IniEntry& entry : file.entries) {
        const std::string where = std::string(what) + ":" + std::to_string(entry.line);
        if (entry.section == "Bundle")
            GPUHOST_CHECK(set_bundle(spec, entry, where));
        else if (base::starts_with(entry.section, image_prefix))
            GPUHOST_CHECK(set_image(spec, entry, where));
        else
            return base::fail(Errc::InvalidArgument, where + ": unknown section [" + entry.section + "]",
                              "[Bundle] and [Image NAME] are known.");
    }
    if (spec.name.empty())
        return base::fail(Errc::InvalidArgument, std::string(what) + ": [Bundle] has no Name=");
    if (spec.images.empty())
        return base::fail(Errc::InvalidArgument, std::string(what) + ": names nothing to put into the bundle",
                          "Add a section [Image NAME] with Layout=DIRECTORY.");
    for (const ImageSource& image : spec.images)
        if (image.layout.empty())
            return base::fail(Errc::InvalidArgument,
                              image.where + ": image '" + image.name + "' has no Layout=");
    return spec;
}

} // namespace gpuhost::images
