// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/spec.hpp"

#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/distribution.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/bundle/manifest.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace gpuhost::images {

using base::Errc;
using base::IniEntry;
using base::Result;

namespace {

constexpr std::string_view image_prefix = "Image ";
constexpr std::size_t most_gpus = 128; ///< GPUs in one GPUs=; a member may have at most 256 words in "hosts"

struct ArtifactSection {
    std::string_view prefix; ///< beginning of the section's name
    std::string_view kind;
    std::string_view key; ///< the key whose value lists the files
    bool (*is_name)(std::string_view) = nullptr;
    bool of_kernel = false; ///< the second word after the prefix is a kernel release
    /// The key that names a whole directory instead of files; empty: not allowed.
    std::string_view directory = {};
};
constexpr std::array artifact_sections{
    ArtifactSection{"Driver ", "driver-packages", "Packages", base::is_driver_version, false},
    ArtifactSection{"Modules ", "driver-modules", "Files", base::is_driver_version, true},
    ArtifactSection{"Toolkit ", toolkit_kind, "Packages", base::is_toolkit_version, false},
    ArtifactSection{"Packages ", packages_kind, "Files", is_distribution, false, "Repository"},
    ArtifactSection{"Files ", files_kind, "Files", is_bundle_name, false, "Directory"}};

tl::unexpected<base::Error> unknown_key(const IniEntry& entry, const std::string& where) {
    return base::fail(Errc::InvalidArgument,
                      where + ": unknown key '" + entry.key + "' in [" + entry.section + "]");
}

Result<void> set_bundle(BundleSpec& spec, const IniEntry& entry, const std::string& where) {
    if (entry.key == "Name") {
        if (!is_bundle_name(entry.value))
            return base::fail(
                Errc::InvalidArgument, where + ": '" + entry.value + "' is not a valid bundle name",
                "Use up to 64 lower-case letters and digits, with '.', '_' and '-' between them.");
        spec.name = entry.value;
        return {};
    }
    if (entry.key != "Generation")
        return unknown_key(entry, where);
    const auto generation = base::parse_uint(entry.value);
    if (!generation || *generation > most_generation)
        return base::fail(Errc::InvalidArgument, where + ": '" + entry.value + "' is not a valid generation",
                          "Use a number that grows with every bundle of that name.");
    spec.generation = *generation;
    return {};
}

Result<void> set_image(ImageSource& image, const IniEntry& entry, const std::string& where) {
    if (entry.key == "Layout")
        image.layout = entry.value;
    else if (entry.key == "Archive")
        image.archive = entry.value;
    else if (entry.key == "Platforms")
        image.platforms = base::split_words(entry.value);
    else if (entry.key == "Reference" && !image.name.empty())
        image.reference = entry.value;
    else
        return unknown_key(entry, where);
    return {};
}

const ArtifactSection* artifact_section(const std::string& name) {
    const auto found =
        std::find_if(artifact_sections.begin(), artifact_sections.end(),
                     [&](const ArtifactSection& section) { return base::starts_with(name, section.prefix); });
    return found == artifact_sections.end() ? nullptr : &*found;
}

/// A section of the specification: its header, its entries, and its position for messages.
struct Section {
    const std::string& name;
    std::span<const IniEntry> entries;
    std::string what; ///< name of the specification's file
    std::string where;

    [[nodiscard]] std::string at(const IniEntry& entry) const {
        return what + ":" + std::to_string(entry.line);
    }
};

/// Makes an image source from the header [Image NAME] or [Images]; set_image() adds the entries.
Result<ImageSource> new_image(const Section& section) {
    ImageSource image;
    image.where = section.where;
    if (section.name == "Images")
        return image;
    GPUHOST_TRY(reference,
                parse_reference(base::trim(std::string_view(section.name).substr(image_prefix.size()))));
    if (!reference.digest.empty())
        return base::fail(Errc::InvalidArgument,
                          section.where + ": an image is named by its tag, not by a digest");
    image.name = reference.text();
    return image;
}

Result<void> check_image(const BundleSpec& spec, const ImageSource& image) {
    const std::string what =
        image.where + (image.name.empty() ? ": [Images]" : ": image '" + image.name + "'");
    if (image.layout.empty() && image.archive.empty())
        return base::fail(Errc::InvalidArgument, what + " has no Layout= and no Archive=",
                          "Set one of them to the path of the layout or archive.");
    if (!image.layout.empty() && !image.archive.empty())
        return base::fail(Errc::InvalidArgument, what + " has both Layout= and Archive=");
    if (!image.name.empty() &&
        std::any_of(spec.images.begin(), spec.images.end(),
                    [&](const ImageSource& other) { return other.name == image.name; }))
        return base::fail(Errc::InvalidArgument, what + " has two sections");
    return {};
}

Result<void> add_image(BundleSpec& spec, const Section& section) {
    GPUHOST_TRY(image, new_image(section));
    for (const IniEntry& entry : section.entries)
        GPUHOST_CHECK(set_image(image, entry, section.at(entry)));
    GPUHOST_CHECK(check_image(spec, image));
    spec.images.push_back(std::move(image));
    return {};
}

/// Makes an artifact source from a header such as [Modules VERSION KERNEL PLATFORM]; set_artifact() adds the
/// entries.
Result<ArtifactSource> new_artifact(const Section& section, const ArtifactSection& kind) {
    const auto words = base::split_words(std::string_view(section.name).substr(kind.prefix.size()));
    const std::size_t least = kind.of_kernel ? 2 : 1;
    if (words.size() < least || words.size() > least + 1 || !kind.is_name(words[0]) ||
        (kind.of_kernel && !base::is_kernel_release(words[1])) ||
        (words.size() > least && !is_platform(words[least])))
        return base::fail(
            Errc::InvalidArgument, section.where + ": section [" + section.name + "] is invalid",
            "Use [Driver VERSION], [Modules VERSION KERNEL], [Toolkit VERSION], [Packages DISTRIBUTION] such "
            "as debian-12, or [Files NAME] in lower-case letters and digits. Append a platform, such as "
            "linux/amd64, to restrict the section to its hosts.");
    ArtifactSource artifact{std::string(kind.kind), words[0], {}, {}, {}, section.where};
    if (kind.of_kernel)
        artifact.kernel = words[1];
    if (words.size() > least)
        artifact.platform = words[least];
    return artifact;
}

Result<void> set_flavour(ArtifactSource& artifact, const IniEntry& entry, const std::string& where) {
    if (!is_flavour(entry.value))
        return base::fail(Errc::InvalidArgument, where + ": '" + entry.value + "' is not a flavour",
                          "Use open or proprietary, the flavours of kernel modules.");
    artifact.flavour = entry.value;
    return {};
}

Result<void> set_gpus(ArtifactSource& artifact, std::vector<std::string> words, const std::string& where) {
    for (std::string& word : words) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
        if (!is_gpu(word))
            return base::fail(Errc::InvalidArgument, where + ": '" + word + "' is not a GPU",
                              "Use the numbers of vendor and device as 'lspci -nn' prints them: 10de:2330.");
        artifact.gpus.push_back(std::move(word));
    }
    if (artifact.gpus.size() > most_gpus)
        return base::fail(Errc::InvalidArgument,
                          where + ": names more than " + std::to_string(most_gpus) + " GPUs");
    return {};
}

Result<void> set_artifact(ArtifactSource& artifact, const ArtifactSection& kind, const IniEntry& entry,
                          const std::string& where) {
    std::vector<std::string> words = base::split_words(entry.value);
    if (entry.key == kind.key)
        std::move(words.begin(), words.end(), std::back_inserter(artifact.patterns));
    else if (kind.kind == packages_kind && entry.key == "OpenPGPKey")
        std::move(words.begin(), words.end(), std::back_inserter(artifact.open_pgp));
    else if (!kind.directory.empty() && entry.key == kind.directory)
        artifact.directory = entry.value;
    else if (kind.of_kernel && (entry.key == "Flavour" || entry.key == "Flavor"))
        return set_flavour(artifact, entry, where);
    else if (is_of_driver(kind.kind) && entry.key == "GPUs")
        return set_gpus(artifact, std::move(words), where);
    else
        return unknown_key(entry, where);
    return {};
}

/// Adds the files of a second section for the same artifact and hosts to the first. Fails for packages and
/// files, which may have only one section.
Result<void> merge_artifact(ArtifactSource& known, ArtifactSource more) {
    if (is_tree(known.kind))
        return base::fail(Errc::InvalidArgument,
                          more.where + ": " + known.kind + " " + known.name +
                              " for the same hosts have two sections",
                          "Repeat Files= in one section instead.");
    std::move(more.patterns.begin(), more.patterns.end(), std::back_inserter(known.patterns));
    return {};
}

Result<void> add_artifact(BundleSpec& spec, const Section& section, const ArtifactSection& kind) {
    GPUHOST_TRY(artifact, new_artifact(section, kind));
    for (const IniEntry& entry : section.entries)
        GPUHOST_CHECK(set_artifact(artifact, kind, entry, section.at(entry)));
    const std::string what = section.where + ": [" + section.name + "] has ";
    const std::string tree(kind.directory);
    if (artifact.patterns.empty() && artifact.directory.empty())
        return base::fail(Errc::InvalidArgument, what + "no " + std::string(kind.key) + "=" +
                                                     (tree.empty() ? "" : " and no " + tree + "="));
    if (!artifact.patterns.empty() && !artifact.directory.empty())
        return base::fail(Errc::InvalidArgument, what + "both Files= and " + tree + "=");
    const auto known = std::find_if(spec.artifacts.begin(), spec.artifacts.end(), [&](const auto& one) {
        return one.kind == artifact.kind && one.name == artifact.name && one.kernel == artifact.kernel &&
               one.platform == artifact.platform && one.flavour == artifact.flavour &&
               one.gpus == artifact.gpus;
    });
    if (known != spec.artifacts.end())
        return merge_artifact(*known, std::move(artifact));
    spec.artifacts.push_back(std::move(artifact));
    return {};
}

Result<void> add_section(BundleSpec& spec, const Section& section) {
    if (section.name == "Images" || base::starts_with(section.name, image_prefix))
        return add_image(spec, section);
    if (const ArtifactSection* const kind = artifact_section(section.name))
        return add_artifact(spec, section, *kind);
    if (section.name != "Bundle")
        return base::fail(Errc::InvalidArgument, section.where + ": unknown section [" + section.name + "]",
                          "Use [Bundle], [Image NAME], [Images], [Driver VERSION], [Modules VERSION KERNEL], "
                          "[Toolkit VERSION], [Packages DISTRIBUTION] or [Files NAME].");
    for (const IniEntry& entry : section.entries)
        GPUHOST_CHECK(set_bundle(spec, entry, section.at(entry)));
    return {};
}

/// Returns the line of a key; empty if it has no value.
std::string line_of(std::string_view key, const std::string& value) {
    return value.empty() ? "" : std::string(key) + "=" + value + "\n";
}

std::string text_of(const ImageSource& image) {
    return "\n" + (image.name.empty() ? "[Images]\n" : "[" + std::string(image_prefix) + image.name + "]\n") +
           line_of("Layout", image.layout) + line_of("Archive", image.archive) +
           line_of("Reference", image.reference) + line_of("Platforms", base::join(image.platforms, " "));
}

std::string text_of(const ArtifactSource& artifact) {
    const auto kind = std::find_if(artifact_sections.begin(), artifact_sections.end(),
                                   [&](const ArtifactSection& one) { return one.kind == artifact.kind; });
    if (kind == artifact_sections.end())
        return {};
    std::string text = "\n[" + std::string(kind->prefix) + artifact.name;
    for (const std::string* const word : {&artifact.kernel, &artifact.platform})
        text += word->empty() ? "" : " " + *word;
    text += "]\n" + line_of("Flavour", artifact.flavour) + line_of("GPUs", base::join(artifact.gpus, " ")) +
            line_of(kind->directory, artifact.directory);
    for (const std::string& pattern : artifact.patterns)
        text += line_of(kind->key, pattern);
    return text + line_of("OpenPGPKey", base::join(artifact.open_pgp, " "));
}

} // namespace

std::string to_text(const BundleSpec& spec) {
    std::string text =
        "[Bundle]\nName=" + spec.name + "\nGeneration=" + std::to_string(spec.generation) + "\n";
    for (const ArtifactSource& artifact : spec.artifacts)
        text += text_of(artifact);
    for (const ImageSource& image : spec.images)
        text += text_of(image);
    return text;
}

Result<BundleSpec> parse_bundle_spec(std::string_view text, std::string_view what) {
    const base::IniFile file = base::parse_ini(text);
    const std::string name(what);
    if (!file.problems.empty())
        return base::fail(Errc::InvalidArgument, name + ":" + std::to_string(file.problems.front().line) +
                                                     ": " + file.problems.front().text);
    BundleSpec spec;
    for (const base::IniSection& section : file.sections)
        GPUHOST_CHECK(add_section(
            spec, {section.name, file.entries_of(section), name, name + ":" + std::to_string(section.line)}));
    if (spec.name.empty())
        return base::fail(Errc::InvalidArgument, name + ": [Bundle] has no Name=");
    if (spec.images.empty() && spec.artifacts.empty())
        return base::fail(
            Errc::InvalidArgument, name + ": lists no content for the bundle",
            "Add a section [Image NAME] with Layout=DIRECTORY or Archive=FILE, [Driver VERSION] "
            "with Packages=FILE…, or [Packages DISTRIBUTION] with Files=FILE….");
    return spec;
}

} // namespace gpuhost::images
