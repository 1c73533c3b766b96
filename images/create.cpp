// SPDX-License-Identifier: Apache-2.0
#include "images/create.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/sha256.hpp"
#include "images/create_artifact.hpp"
#include "images/oci.hpp"
#include "images/reference.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using base::UniqueFd;

namespace {

constexpr std::string_view layout_text = R"({"imageLayoutVersion":"1.0.0"})";
constexpr unsigned most_nesting = 8; ///< indexes in indexes
constexpr std::size_t longest_type = 256;

/// Collects the blobs of images, each once, with the hosts that need it.
class Collector {
  public:
    explicit Collector(Contents& contents) : contents_(contents) {}

    Result<void> add_image(const ImageSource& source, const std::string& directory);
    Result<void> add_artifact(const ArtifactSource& source, const std::string& directory);
    void finish();

  private:
    struct Blob {
        std::uint64_t size = 0;
        std::set<std::string> hosts;
        bool for_all = false;
        std::size_t order = 0;
    };
    struct Walk {
        const Root& layout;
        const ImageSource& source;
        std::set<std::string> platforms; ///< found on the way
        std::set<std::pair<std::string, std::string>>
            documents; ///< digest and platform, of those walked already

        [[nodiscard]] std::vector<std::string> platforms_of(const std::string& document) const;
    };

    Result<Descriptor> choose(const Document& index, const ImageSource& source) const;
    Result<void> walk(Walk& walk, const Descriptor& descriptor, const std::string& platform, unsigned depth);
    Result<void> add_referrers(Walk& walk, const Document& index);
    Result<void> add_blob(const Walk& walk, const Descriptor& descriptor, const std::string& platform);
    Result<void> note_blob(const std::string& hex, std::uint64_t size, const std::string& host);
    void add_text(const std::string& path, std::string text);

    Contents& contents_;
    std::map<std::string, Blob> blobs_;
    std::set<std::string> referrers_; ///< digests of those that are among the images
};

base::Error in_layout(const base::Error& error, const ImageSource& source) {
    return error.context(source.where + ": layout '" + source.layout + "'");
}

std::string blob_path(const std::string& hex) {
    return "/blobs/sha256/" + hex;
}

bool wanted(const std::vector<std::string>& platforms, const std::string& platform) {
    return platforms.empty() || platform.empty() ||
           std::any_of(platforms.begin(), platforms.end(), [&](const std::string& one) {
               return platform == one || base::starts_with(platform, one + "/"); // its variants
           });
}

Result<Document> read_document(const Root& layout, const Descriptor& descriptor) {
    GPUHOST_TRY(text, layout.read(blob_path(descriptor.hex), document_limit));
    if (content::sha256(text) != descriptor.hex)
        return base::fail(Errc::BadContent, "blob sha256:" + descriptor.hex + " is damaged");
    return parse_document(text, descriptor.media_type, "sha256:" + descriptor.hex);
}

Result<BundleImage> make_image(const std::string& name, const Descriptor& descriptor,
                               const Document& document) {
    BundleImage image{name, descriptor.hex, descriptor.media_type, descriptor.size, {}};
    if (!document.subject)
        return image;
    image.subject = document.subject->hex;
    image.artifact_type = document.artifact_type;
    if (image.artifact_type.size() > longest_type)
        return base::fail(Errc::BadContent, "the artifact type of sha256:" + descriptor.hex + " is too long");
    std::size_t bytes = 0;
    for (const auto& [key, text] : document.annotations) { // as many as a bundle's manifest takes
        bytes += key.size() + text.size();
        if (bytes <= most_annotation_bytes && image.annotations.size() < most_annotations)
            image.annotations[key] = text;
    }
    return image;
}

using Referrers = std::vector<std::pair<Descriptor, Document>>;

/// What has a subject, among `descriptors`. What the layout does not have is not taken either.
Result<void> find_with_subject(const Root& layout, const std::vector<Descriptor>& descriptors,
                               Referrers& found) {
    for (const Descriptor& descriptor : descriptors) {
        if (!is_document(descriptor.media_type) || !layout.exists(blob_path(descriptor.hex)))
            continue;
        GPUHOST_TRY(document, read_document(layout, descriptor));
        if (document.subject)
            found.emplace_back(descriptor, std::move(document));
    }
    return {};
}

/// All of a layout that say to be about another image: in its index, or listed under the tag "sha256-<hex>" where a
/// registry knew no better (OCI distribution 1.1, "referrers tag schema").
Result<Referrers> find_referrers(const Root& layout, const Document& index) {
    Referrers found;
    GPUHOST_CHECK(find_with_subject(layout, index.content, found));
    for (const Descriptor& descriptor : index.content) {
        const bool listed =
            std::any_of(descriptor.names.begin(), descriptor.names.end(), [](const std::string& name) {
                return base::starts_with(name, "sha256-") && content::is_sha256(name.substr(7));
            });
        if (!listed || !is_document(descriptor.media_type) || !layout.exists(blob_path(descriptor.hex)))
            continue;
        GPUHOST_TRY(list, read_document(layout, descriptor));
        GPUHOST_CHECK(find_with_subject(layout, list.content, found));
    }
    return found;
}

std::vector<std::string> Collector::Walk::platforms_of(const std::string& document) const {
    std::vector<std::string> found;
    for (auto one = documents.lower_bound({document, ""}); one != documents.end() && one->first == document;
         ++one)
        found.push_back(one->second);
    return found;
}

Result<Descriptor> Collector::choose(const Document& index, const ImageSource& source) const {
    if (source.reference.empty()) {
        if (index.content.size() == 1)
            return index.content.front();
        return base::fail(Errc::InvalidArgument, "has " + std::to_string(index.content.size()) + " images",
                          "Say which with Reference=, by its name in the layout or its digest.");
    }
    for (const Descriptor& descriptor : index.content)
        if (std::find(descriptor.names.begin(), descriptor.names.end(), source.reference) !=
                descriptor.names.end() ||
            "sha256:" + descriptor.hex == source.reference)
            return descriptor;
    return base::fail(Errc::NotFound, "has no image '" + source.reference + "'");
}

/// `host` is a word of Member::hosts; empty: all need it.
Result<void> Collector::note_blob(const std::string& hex, std::uint64_t size, const std::string& host) {
    Blob& blob = blobs_.try_emplace(hex, Blob{size, {}, false, blobs_.size()}).first->second;
    if (blob.size != size)
        return base::fail(Errc::BadContent, "blob sha256:" + hex + " is said to have two sizes");
    blob.for_all = blob.for_all || host.empty();
    blob.hosts.insert(host);
    return {};
}

Result<void> Collector::add_blob(const Walk& walk, const Descriptor& descriptor,
                                 const std::string& platform) {
    const auto st = walk.layout.stat(blob_path(descriptor.hex));
    if (!st && descriptor.elsewhere)
        return {}; // by its licence it may not be passed on
    if (!st)
        return base::fail(st.error());
    if (!S_ISREG(st->st_mode) || static_cast<std::uint64_t>(st->st_size) != descriptor.size)
        return base::fail(Errc::BadContent,
                          "blob sha256:" + descriptor.hex + " has not the size that it should");
    GPUHOST_CHECK(note_blob(descriptor.hex, descriptor.size, platform));
    contents_.files.try_emplace(descriptor.hex, walk.layout.host_path(blob_path(descriptor.hex)));
    return {};
}

Result<void> Collector::walk(Walk& walk, const Descriptor& descriptor, const std::string& platform,
                             unsigned depth) {
    GPUHOST_CHECK(add_blob(walk, descriptor, platform));
    if (!is_document(descriptor.media_type))
        return {};
    if (!walk.documents.emplace(descriptor.hex, platform).second)
        return {};
    if (depth > most_nesting)
        return base::fail(Errc::BadContent, "indexes are nested too deeply");
    GPUHOST_TRY(document, read_document(walk.layout, descriptor));
    for (const Descriptor& child : document.content) {
        const std::string own = child.platform.empty() ? platform : child.platform;
        if (!wanted(walk.source.platforms, own))
            continue;
        if (!own.empty())
            walk.platforms.insert(own);
        GPUHOST_CHECK(this->walk(walk, child, own, depth + 1));
    }
    return {};
}

Result<void> Collector::add_image(const ImageSource& source, const std::string& directory) {
    const std::string path = source.layout.front() == '/' ? source.layout : directory + "/" + source.layout;
    GPUHOST_TRY(layout, Root::open(path));
    GPUHOST_TRY(version_text, layout.read("/oci-layout", 4096));
    GPUHOST_TRY(version, base::parse_json(version_text, "oci-layout"));
    if (base::string_or(version, "imageLayoutVersion", "") != "1.0.0")
        return base::fail(Errc::Unsupported, "is no OCI image layout of version 1.0.0");
    GPUHOST_TRY(index_text, layout.read("/index.json", document_limit));
    GPUHOST_TRY(index, parse_document(index_text, "", "index.json"));
    GPUHOST_TRY(chosen, choose(index, source));
    if (!is_document(chosen.media_type))
        return base::fail(Errc::Unsupported,
                          "sha256:" + chosen.hex + " is of type '" + chosen.media_type + "'");
    Walk walk{layout, source, {}, {}};
    GPUHOST_CHECK(this->walk(walk, chosen, chosen.platform, 0));
    for (const std::string& platform : source.platforms)
        if (std::none_of(walk.platforms.begin(), walk.platforms.end(),
                         [&](const std::string& found) { return wanted({platform}, found); }) &&
            !walk.platforms.empty())
            return base::fail(Errc::NotFound, "has nothing for platform '" + platform + "'");
    GPUHOST_TRY(document, read_document(layout, chosen));
    GPUHOST_TRY(image, make_image(source.name, chosen, document));
    image.platforms.assign(walk.platforms.begin(), walk.platforms.end());
    contents_.manifest.images.push_back(std::move(image));
    return add_referrers(walk, index);
}

/// Takes what is about one of the documents taken, and what is about that.
Result<void> Collector::add_referrers(Walk& walk, const Document& index) {
    GPUHOST_TRY(candidates, find_referrers(walk.layout, index));
    for (bool grew = true; grew;) {
        grew = false;
        for (const auto& [descriptor, document] : candidates)
            for (const std::string& platform : walk.platforms_of(document.subject->hex)) {
                if (walk.documents.count({descriptor.hex, platform}) != 0)
                    continue;
                GPUHOST_CHECK(this->walk(walk, descriptor, platform, 0));
                grew = true;
                if (!referrers_.insert(descriptor.hex).second)
                    continue;
                GPUHOST_TRY(image, make_image("", descriptor, document));
                contents_.manifest.images.push_back(std::move(image));
            }
    }
    return {};
}

Result<void> Collector::add_artifact(const ArtifactSource& source, const std::string& directory) {
    GPUHOST_TRY(made, make_artifact(source, directory));
    const std::string config = content::sha256(empty_config);
    if (made.hosts.empty())
        made.hosts.emplace_back();
    for (const std::string& host : made.hosts) {
        GPUHOST_CHECK(note_blob(made.artifact.hex, made.artifact.size, host));
        GPUHOST_CHECK(note_blob(config, empty_config.size(), host));
        for (const NewArtifact::File& file : made.files)
            GPUHOST_CHECK(note_blob(file.hex, file.size, host));
    }
    for (const NewArtifact::File& file : made.files)
        contents_.files.try_emplace(file.hex, file.path);
    contents_.texts[made.artifact.hex] = std::move(made.document);
    contents_.texts[config] = empty_config;
    contents_.manifest.artifacts.push_back(std::move(made.artifact));
    return {};
}

void Collector::add_text(const std::string& path, std::string text) {
    Member member;
    member.hex = content::sha256(text);
    member.size = text.size();
    member.path = path;
    contents_.texts[member.hex] = std::move(text);
    contents_.manifest.members.push_back(std::move(member));
}

std::string index_text(const BundleManifest& manifest) {
    Json manifests = Json::array();
    for (const BundleImage& image : manifest.images) {
        Json descriptor{
            {"mediaType", image.media_type}, {"digest", "sha256:" + image.hex}, {"size", image.size}};
        if (!image.name.empty())
            descriptor["annotations"] = {{"io.containerd.image.name", image.name},
                                         {"org.opencontainers.image.ref.name", image.name}};
        if (!image.artifact_type.empty())
            descriptor["artifactType"] = image.artifact_type;
        manifests.push_back(std::move(descriptor));
    }
    for (const BundleArtifact& artifact : manifest.artifacts)
        manifests.push_back({{"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                             {"digest", "sha256:" + artifact.hex},
                             {"size", artifact.size},
                             {"artifactType", artifact_type(artifact)}});
    return base::dump({{"schemaVersion", 2},
                       {"mediaType", "application/vnd.oci.image.index.v1+json"},
                       {"manifests", std::move(manifests)}});
}

void Collector::finish() {
    add_text("oci-layout", std::string(layout_text));
    add_text("index.json", index_text(contents_.manifest));
    std::vector<Member> members(blobs_.size());
    for (const auto& [hex, blob] : blobs_) {
        Member& member = members[blob.order];
        member.hex = hex;
        member.size = blob.size;
        if (!blob.for_all)
            member.hosts.assign(blob.hosts.begin(), blob.hosts.end());
    }
    std::move(members.begin(), members.end(), std::back_inserter(contents_.manifest.members));
}

} // namespace

Result<MemberBytes> Contents::open(const Member& member) const {
    if (const auto text = texts.find(member.hex); text != texts.end()) {
        UniqueFd fd(::memfd_create("member", MFD_CLOEXEC));
        if (!fd)
            return base::fail_errno(member.place(), errno);
        GPUHOST_CHECK(base::write_all(fd.get(), text->second, member.place()));
        return MemberBytes{std::move(fd), 0};
    }
    const auto file = files.find(member.hex);
    UniqueFd fd(file == files.end() ? -1 : ::open(file->second.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd)
        return base::fail_errno(member.place(), file == files.end() ? ENOENT : errno);
    return MemberBytes{std::move(fd), 0};
}

Result<Contents> collect(const BundleSpec& spec, const std::string& directory, std::uint64_t created) {
    Contents contents;
    contents.manifest.name = spec.name;
    contents.manifest.generation = spec.generation;
    contents.manifest.created = created;
    Collector collector(contents);
    for (const ImageSource& image : spec.images)
        if (auto added = collector.add_image(image, directory); !added)
            return base::fail(in_layout(added.error(), image));
    for (const ArtifactSource& artifact : spec.artifacts)
        if (auto added = collector.add_artifact(artifact, directory); !added)
            return base::fail(added.error().context(artifact.where));
    collector.finish();
    return contents;
}

} // namespace gpuhost::images
