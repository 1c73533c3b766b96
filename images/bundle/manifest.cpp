// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/manifest.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/distribution.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/bundle/oci.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view format = "gpuhost-bundle";
constexpr std::int64_t version = 1;
constexpr std::size_t most_members = 400'000;
constexpr std::size_t most_images = 10'000;
constexpr std::size_t most_hosts = 256;   ///< most words in "hosts" of one member
constexpr std::size_t longest_word = 256; ///< characters of one word, such as a platform
/// Limit of one member's size, and of the sum of all sizes, in bytes.
constexpr std::uint64_t largest = std::uint64_t{1} << 50U;

struct ArtifactKind {
    std::string_view kind;
    bool (*is_name)(std::string_view);
    bool of_kernel;
};
constexpr std::array artifact_kinds{ArtifactKind{"driver-packages", base::is_driver_version, false},
                                    ArtifactKind{"driver-modules", base::is_driver_version, true},
                                    ArtifactKind{toolkit_kind, base::is_toolkit_version, false},
                                    ArtifactKind{packages_kind, is_distribution, false},
                                    ArtifactKind{files_kind, is_bundle_name, false}};
constexpr std::array paths{std::string_view("oci-layout"), std::string_view("index.json")};

base::Error bad(std::string_view why) {
    return {Errc::BadContent, std::string(why), {}};
}

/// Fails with Unsupported for a key that is not in `known`, because an unknown key may be essential to the
/// bundle.
Result<void> only_keys(const Json& object, std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            return base::fail(Errc::Unsupported, "unknown key '" + key.substr(0, longest_word) + "'",
                              "Update gpuhost on this host.");
    return {};
}

Result<std::uint64_t> get_size(const Json& object, std::string_view key) {
    GPUHOST_TRY(value, base::get_int(object, key));
    if (value < 0 || static_cast<std::uint64_t>(value) > largest)
        return base::fail(bad("key '" + std::string(key) + "': out of range"));
    return static_cast<std::uint64_t>(value);
}

Result<std::string> get_hex(const Json& object) {
    GPUHOST_TRY(digest, base::get_string(object, "digest"));
    const std::string_view hex = digest_hex(digest);
    if (hex.empty())
        return base::fail(bad("'" + digest.substr(0, longest_word) + "' is not a sha256 digest"));
    return std::string(hex);
}

bool is_word(const std::string& text) {
    return !text.empty() && text.size() <= longest_word &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<std::vector<std::string>> get_words(const Json& object, std::string_view key) {
    if (!object.contains(std::string(key)))
        return std::vector<std::string>();
    GPUHOST_TRY(words, base::get_strings(object, key));
    if (words.size() > most_hosts || !std::all_of(words.begin(), words.end(), is_word))
        return base::fail(bad("key '" + std::string(key) + "': too many or invalid words"));
    return std::move(words);
}

Result<Member> parse_member(const Json& value) {
    GPUHOST_CHECK(only_keys(value, {"digest", "size", "path", "hosts", "absent"}));
    Member member;
    GPUHOST_TRY(hex, get_hex(value));
    GPUHOST_TRY(size, get_size(value, "size"));
    GPUHOST_TRY(hosts, get_words(value, "hosts"));
    for (const std::string& word : hosts)
        if (!parse_host_word(word))
            return base::fail(Errc::Unsupported, "key 'hosts': unknown condition '" + word + "'",
                              "Update gpuhost on this host.");
    member.hex = std::move(hex);
    member.size = size;
    member.hosts = std::move(hosts);
    member.path = base::string_or(value, "path", "");
    member.absent = base::bool_or(value, "absent", false);
    if (value.contains("path") && std::find(paths.begin(), paths.end(), member.path) == paths.end())
        return base::fail(
            bad("'" + member.path.substr(0, longest_word) + "' is not a valid path in a bundle"));
    if (!member.is_blob() && (member.absent || !member.hosts.empty() || member.size > document_limit))
        return base::fail(bad("'" + member.path + "' must be present for all hosts, and at most 4 MiB"));
    return member;
}

Result<std::map<std::string, std::string>> get_annotations(const Json& object) {
    auto annotations = base::string_map_or_empty(object, "annotations");
    const Json& value = base::member(object, "annotations");
    std::size_t bytes = 0;
    for (const auto& [key, text] : annotations)
        bytes += key.size() + text.size();
    if (!value.is_null() && (!value.is_object() || value.size() != annotations.size()))
        return base::fail(bad("key 'annotations': not an object of strings"));
    if (annotations.size() > most_annotations || bytes > most_annotation_bytes)
        return base::fail(bad("key 'annotations': too many or too long"));
    return annotations;
}

/// Parses the keys of an image with a subject, such as a signature of another image.
Result<void> parse_subject(const Json& value, BundleImage& image) {
    image.subject = digest_hex(base::string_or(value, "subject", ""));
    if (image.subject.empty())
        return base::fail(bad("key 'subject': not a sha256 digest"));
    image.artifact_type = base::string_or(value, "artifactType", "");
    if (image.artifact_type.size() > longest_word)
        return base::fail(bad("key 'artifactType': too long"));
    GPUHOST_TRY(annotations, get_annotations(value));
    image.annotations = std::move(annotations);
    return {};
}

Result<BundleImage> parse_image(const Json& value) {
    if (!value.is_object())
        return base::fail(bad("key 'images': an entry is not an object"));
    GPUHOST_CHECK(only_keys(value, {"name", "digest", "mediaType", "size", "platforms", "subject",
                                    "artifactType", "annotations"}));
    BundleImage image;
    GPUHOST_TRY(hex, get_hex(value));
    GPUHOST_TRY(size, get_size(value, "size"));
    GPUHOST_TRY(type, base::get_string(value, "mediaType"));
    GPUHOST_TRY(platforms, get_words(value, "platforms"));
    image.hex = std::move(hex);
    image.size = size;
    image.media_type = std::move(type);
    image.platforms = std::move(platforms);
    image.name = base::string_or(value, "name", "");
    if (value.contains("subject"))
        GPUHOST_CHECK(parse_subject(value, image));
    else if (value.contains("artifactType") || value.contains("annotations"))
        return base::fail(bad("an image with 'artifactType' or 'annotations' has no 'subject'"));
    if (!is_document(image.media_type) || image.size > document_limit)
        return base::fail(bad("image '" + image.name.substr(0, longest_word) +
                              "': unknown media type, or larger than 4 MiB"));
    if (image.name.empty())
        return image;
    GPUHOST_TRY(reference, parse_reference(image.name));
    if (reference.text() != image.name || !reference.digest.empty())
        return base::fail(bad("image name '" + image.name + "' is not in its full form with a tag"));
    return image;
}

Result<void> parse_images(const Json& array, BundleManifest& manifest) {
    if (!array.is_array() || array.size() > most_images)
        return base::fail(bad("key 'images': not a list, or too long"));
    std::set<std::string> names;
    for (const Json& value : array) {
        GPUHOST_TRY(image, parse_image(value));
        if (!image.name.empty() && !names.insert(image.name).second)
            return base::fail(bad("image '" + image.name + "' is listed twice"));
        manifest.images.push_back(std::move(image));
    }
    return {};
}

Result<BundleArtifact> parse_artifact(const Json& value) {
    if (!value.is_object())
        return base::fail(bad("key 'artifacts': an entry is not an object"));
    GPUHOST_CHECK(only_keys(value, {"kind", "name", "kernel", "flavour", "digest", "size"}));
    BundleArtifact artifact;
    GPUHOST_TRY(hex, get_hex(value));
    GPUHOST_TRY(size, get_size(value, "size"));
    GPUHOST_TRY(kind, base::get_string(value, "kind"));
    GPUHOST_TRY(name, base::get_string(value, "name"));
    artifact.hex = std::move(hex);
    artifact.size = size;
    artifact.kind = std::move(kind);
    artifact.name = std::move(name);
    artifact.kernel = base::string_or(value, "kernel", "");
    artifact.flavour = base::string_or(value, "flavour", "");
    const auto* const known =
        std::find_if(artifact_kinds.begin(), artifact_kinds.end(),
                     [&](const ArtifactKind& one) { return one.kind == artifact.kind; });
    if (known == artifact_kinds.end())
        return base::fail(Errc::Unsupported,
                          "unknown kind of artifact '" + artifact.kind.substr(0, longest_word) + "'",
                          "Update gpuhost on this host.");
    if (!known->is_name(artifact.name) || value.contains("kernel") != known->of_kernel ||
        (known->of_kernel && !base::is_kernel_release(artifact.kernel)))
        return base::fail(bad("an artifact has an invalid version, distribution, name or kernel"));
    if (value.contains("flavour") && (!known->of_kernel || !is_flavour(artifact.flavour)))
        return base::fail(
            bad("artifact '" + artifact.name + "' has an invalid flavour, or one without modules"));
    if (artifact.size > document_limit)
        return base::fail(bad("artifact '" + artifact.name + "': document larger than 4 MiB"));
    return artifact;
}

Result<void> parse_artifacts(const Json& object, BundleManifest& manifest) {
    if (!object.contains("artifacts"))
        return {};
    const Json& array = object["artifacts"];
    if (!array.is_array() || array.size() > most_images)
        return base::fail(bad("key 'artifacts': not a list, or too long"));
    for (const Json& value : array) {
        GPUHOST_TRY(artifact, parse_artifact(value));
        manifest.artifacts.push_back(std::move(artifact));
    }
    return {};
}

/// Returns the members' indexes, ordered by path and digest; blobs, which have no path, are first. Fails if a
/// member is listed twice. Indexes need less memory than a set of strings for 100,000 members.
Result<std::vector<std::size_t>> by_place(const std::vector<Member>& members) {
    std::vector<std::size_t> order(members.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    const auto key = [&](std::size_t i) {
        return std::tie(members[i].path, members[i].is_blob() ? members[i].hex : members[i].path);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(order.begin(), order.end(),
                                          [&](std::size_t a, std::size_t b) { return key(a) == key(b); });
    if (twice != order.end())
        return base::fail(bad("'" + members[*twice].place() + "' is listed twice"));
    return order;
}

/// Checks that the OCI index or manifest of an image or artifact is a member with this digest and size.
/// `order` is the result of by_place().
Result<void> check_document(const BundleManifest& manifest, const std::vector<std::size_t>& order,
                            const std::string& hex, std::uint64_t size, const std::string& name) {
    // Blobs sort before all others: their path is empty.
    const auto found =
        std::lower_bound(order.begin(), order.end(), hex, [&](std::size_t i, const std::string& wanted) {
            return manifest.members[i].is_blob() && manifest.members[i].hex < wanted;
        });
    if (found == order.end() || !manifest.members[*found].is_blob() || manifest.members[*found].hex != hex)
        return base::fail(bad("the document of '" + name + "' is not a member"));
    if (manifest.members[*found].size != size)
        return base::fail(bad("'" + name + "' and its member: size mismatch"));
    return {};
}

Result<void> check_documents(const BundleManifest& manifest, const std::vector<std::size_t>& order) {
    for (const BundleImage& image : manifest.images)
        GPUHOST_CHECK(check_document(manifest, order, image.hex, image.size, image.name));
    for (const BundleArtifact& artifact : manifest.artifacts)
        GPUHOST_CHECK(check_document(manifest, order, artifact.hex, artifact.size, artifact.name));
    return {};
}

Result<BundleManifest> parse(std::string_view text) {
    BundleManifest manifest;
    std::uint64_t total = 0;
    const auto take = [&](const Json& value) -> Result<void> {
        GPUHOST_TRY(member, parse_member(value));
        total += member.size;
        if (manifest.members.size() == most_members || total > largest)
            return base::fail(bad("too many members, or members too large"));
        manifest.members.push_back(std::move(member));
        return {};
    };
    GPUHOST_TRY(json, base::parse_json_list(text, "its manifest", "members", take));
    if (!json.is_object() || base::string_or(json, "format", "") != format)
        return base::fail(bad("is not the manifest of a bundle"));
    if (base::int_or(json, "version", 0) != version)
        return base::fail(Errc::Unsupported, "format version not supported", "Update gpuhost on this host.");
    GPUHOST_CHECK(only_keys(
        json, {"format", "version", "name", "generation", "created", "members", "images", "artifacts"}));
    GPUHOST_TRY(name, base::get_string(json, "name"));
    GPUHOST_TRY(generation, get_size(json, "generation"));
    GPUHOST_TRY(created, get_size(json, "created"));
    manifest.name = std::move(name);
    manifest.generation = generation;
    manifest.created = created;
    if (!is_bundle_name(manifest.name))
        return base::fail(bad("'" + manifest.name.substr(0, longest_word) + "' is not a valid bundle name"));
    const Json& members = base::member(json, "members");
    if (!members.is_array() || !members.empty())
        return base::fail(bad("key 'members': not a list of objects"));
    GPUHOST_CHECK(parse_images(base::member(json, "images"), manifest));
    GPUHOST_CHECK(parse_artifacts(json, manifest));
    GPUHOST_TRY(order, by_place(manifest.members));
    GPUHOST_CHECK(check_documents(manifest, order));
    return manifest;
}

Json to_json(const Member& member, bool with_absent) {
    Json value{{"digest", "sha256:" + member.hex}, {"size", member.size}};
    if (!member.path.empty())
        value["path"] = member.path;
    if (!member.hosts.empty())
        value["hosts"] = member.hosts;
    if (member.absent && with_absent)
        value["absent"] = true;
    return value;
}

Json to_json(const BundleImage& image) {
    Json value{{"digest", "sha256:" + image.hex}, {"size", image.size}, {"mediaType", image.media_type}};
    if (!image.name.empty())
        value["name"] = image.name;
    if (!image.platforms.empty())
        value["platforms"] = image.platforms;
    if (image.subject.empty())
        return value;
    value["subject"] = "sha256:" + image.subject;
    if (!image.artifact_type.empty())
        value["artifactType"] = image.artifact_type;
    if (!image.annotations.empty())
        value["annotations"] = image.annotations;
    return value;
}

Json to_json(const BundleArtifact& artifact) {
    Json value{{"kind", artifact.kind},
               {"name", artifact.name},
               {"digest", "sha256:" + artifact.hex},
               {"size", artifact.size}};
    if (!artifact.kernel.empty())
        value["kernel"] = artifact.kernel;
    if (!artifact.flavour.empty())
        value["flavour"] = artifact.flavour;
    return value;
}

/// Passes the manifest's text to `put(std::string_view)` in pieces. Writes the array of members without a
/// JSON library, so that memory never holds a JSON tree of all members.
template <typename Put>
void write(const BundleManifest& manifest, bool with_absent, const Put& put) {
    Json head{{"format", format},
              {"version", version},
              {"name", manifest.name},
              {"generation", manifest.generation},
              {"created", manifest.created},
              {"images", Json::array()}};
    for (const BundleImage& image : manifest.images)
        head["images"].push_back(to_json(image));
    for (const BundleArtifact& artifact : manifest.artifacts)
        head["artifacts"].push_back(to_json(artifact));
    std::string text = base::dump(head);
    text.pop_back();
    put(text);
    std::string_view before = ",\"members\":[";
    for (const Member& member : manifest.members) {
        put(before);
        put(base::dump(to_json(member, with_absent)));
        before = ",";
    }
    put(manifest.members.empty() ? ",\"members\":[]}\n" : "]}\n");
}

} // namespace

std::string artifact_type(const BundleArtifact& artifact) {
    return "application/vnd.gpuhost." + artifact.kind + ".v1";
}

bool is_bundle_name(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 64 && letter(text.front()) && letter(text.back()) &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

Result<BundleManifest> parse_bundle_manifest(std::string_view text, std::string_view what) {
    auto manifest = parse(text);
    if (!manifest)
        return base::fail(std::move(manifest).error().context(std::string(what)));
    return manifest;
}

std::string to_text(const BundleManifest& manifest) {
    std::string text;
    write(manifest, true, [&](std::string_view piece) { text += piece; });
    return text;
}

std::string identity(const BundleManifest& manifest) {
    content::Sha256 hash;
    write(manifest, false, [&](std::string_view piece) { hash.update(piece); });
    return hash.finish();
}

} // namespace gpuhost::images
