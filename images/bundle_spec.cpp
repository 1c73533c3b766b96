// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "images/create.hpp"
#include "images/reference.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view image_prefix = "Image ";

struct ArtifactSection {
    std::string_view prefix; ///< of its section's name
    std::string_view kind;
    std::string_view key;   ///< that names its files
    bool of_kernel = false; ///< the second word is a kernel, and must be there; else it may be a platform
};
constexpr std::array artifact_sections{ArtifactSection{"Driver ", "driver-packages", "Packages", false},
                                       ArtifactSection{"Modules ", "driver-modules", "Files", true}};

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

Result<void> set_artifact(BundleSpec& spec, const ArtifactSection& section, const base::IniEntry& entry,
                          const std::string& where) {
    const auto words = base::split_words(std::string_view(entry.section).substr(section.prefix.size()));
    if (words.empty() || words.size() > 2 || !base::is_driver_version(words[0]) ||
        (section.of_kernel && (words.size() < 2 || !base::is_kernel_release(words[1]))))
        return base::fail(Errc::InvalidArgument,
                          where + ": section [" + entry.section + "] is not understood",
                          "Say [Driver VERSION], [Driver VERSION PLATFORM] or [Modules VERSION KERNEL].");
    if (entry.key != section.key)
        return base::fail(Errc::InvalidArgument,
                          where + ": unknown key '" + entry.key + "' in [" + entry.section + "]",
                          std::string(section.key) + "= is known.");
    ArtifactSource artifact{std::string(section.kind),      words[0], {}, {},
                            base::split_words(entry.value), where};
    if (section.of_kernel)
        artifact.kernel = words[1];
    if (words.size() == 2)
        artifact.hosts.push_back((section.of_kernel ? "kernel=" : "") + words[1]);
    const auto known = std::find_if(spec.artifacts.begin(), spec.artifacts.end(), [&](const auto& one) {
        return one.kind == artifact.kind && one.name == artifact.name && one.hosts == artifact.hosts;
    });
    if (known == spec.artifacts.end())
        spec.artifacts.push_back(std::move(artifact));
    else
        known->patterns.insert(known->patterns.end(), artifact.patterns.begin(), artifact.patterns.end());
    return {};
}

const ArtifactSection* artifact_section(const std::string& name) {
    const auto found =
        std::find_if(artifact_sections.begin(), artifact_sections.end(),
                     [&](const ArtifactSection& section) { return base::starts_with(name, section.prefix); });
    return found == artifact_sections.end() ? nullptr : &*found;
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
        else if (const ArtifactSection* section = artifact_section(entry.section))
            GPUHOST_CHECK(set_artifact(spec, *section, entry, where));
        else
            return base::fail(
                Errc::InvalidArgument, where + ": unknown section [" + entry.section + "]",
                "[Bundle], [Image NAME], [Driver VERSION] and [Modules VERSION KERNEL] are known.");
    }
    if (spec.name.empty())
        return base::fail(Errc::InvalidArgument, std::string(what) + ": [Bundle] has no Name=");
    if (spec.images.empty() && spec.artifacts.empty())
        return base::fail(
            Errc::InvalidArgument, std::string(what) + ": names nothing to put into the bundle",
            "Add a section [Image NAME] with Layout=DIRECTORY, or [Driver VERSION] with Packages=FILE….");
    for (const ImageSource& image : spec.images)
        if (image.layout.empty())
            return base::fail(Errc::InvalidArgument,
                              image.where + ": image '" + image.name + "' has no Layout=");
    return spec;
}

} // namespace gpuhost::images
