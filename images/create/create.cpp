// SPDX-License-Identifier: Apache-2.0
#include "images/create/create.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/bundle/oci.hpp"
#include "images/create/artifact.hpp"
#include "images/create/image_stock.hpp"
#include "images/foreign/foreign.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using base::UniqueFd;

namespace {

constexpr std::string_view layout_text = R"({"imageLayoutVersion":"1.0.0"})";
constexpr unsigned most_nesting = 8; ///< levels of indexes in indexes
constexpr std::size_t longest_type = 256;
/// Most platforms of one blob: a manifest allows no more words in "hosts".
constexpr std::size_t most_platforms = 256;

/// Collects the blobs of images and artifacts. Each blob is listed once, with the hosts that need it.
class Collector {
  public:
    explicit Collector(Contents& contents) : contents_(contents) {}

    Result<void> add_images(const ImageSource& source, const ImageStock& stock);
    Result<void> add_artifact(const ArtifactSource& source, const CollectOptions& options);
    void finish();

  private:
    struct Blob {
        std::uint64_t size = 0;
        std::set<std::string> hosts; ///< words of Member::hosts; an empty word: all hosts need the blob
        std::size_t order = 0;
    };
    struct Walk {
        const ImageStock& stock;
        const ImageSource& source;
        std::set<std::string> platforms; ///< platforms of the visited documents and blobs
        /// Digest of each visited index or manifest → platforms for which it was visited.
        std::map<std::string, std::set<std::string>> documents;
        /// Referrers to visit: (pass, position in the stock's referrers, platform). Each pass visits
        /// referrers in the order of their positions. A referrer whose position has been passed is due in the
        /// next pass.
        std::set<std::tuple<std::size_t, std::size_t, std::string>> due;
        std::size_t pass = 0;
        std::size_t next = 0; ///< the position after that of the referrer being visited
    };

    Result<void> add_all(const ImageSource& source, const ImageStock& stock);
    Result<void> add_image(const std::string& name, const Descriptor& image, const ImageSource& source,
                           const ImageStock& stock);
    Result<void> walk(Walk& walk, const Descriptor& descriptor, const std::string& platform, unsigned depth);
    Result<void> add_referrers(Walk& walk);
    Result<void> add_blob(const Walk& walk, const Descriptor& descriptor, const std::string& platform);
    Result<void> note_blob(const std::string& hex, std::uint64_t size, const std::string& host);
    void add_text(const std::string& path, std::string text);

    Contents& contents_;
    std::vector<NewArtifact> artifacts_;
    std::map<std::string, Blob> blobs_;
    /// Name of each image in the manifest → its digest. For an image without a name, the key is its digest.
    std::map<std::string, std::string> names_;
};

bool wanted(const std::vector<std::string>& platforms, const std::string& platform) {
    return platforms.empty() || platform.empty() ||
           std::any_of(platforms.begin(), platforms.end(), [&](const std::string& one) {
               // The second condition accepts a variant of a wanted platform.
               return platform == one || base::starts_with(platform, one + "/");
           });
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
    // Further annotations are dropped: a manifest must not exceed these limits.
    for (const auto& [key, text] : document.annotations) {
        bytes += key.size() + text.size();
        if (bytes <= most_annotation_bytes && image.annotations.size() < most_annotations)
            image.annotations[key] = text;
    }
    return image;
}

/// Returns the platform in the configuration of an image. Empty for an index and for other content. Empty
/// also for 32-bit x86 and 32-bit Arm: 64-bit hosts can run such an image, so it is for all hosts.
std::string configured_platform(const BlobSource& blobs, const Descriptor& image) {
    if (!is_document(image.media_type))
        return {};
    const auto document = read_document(blobs, image);
    if (!document || document->index || !is_image_config(document->content.front().media_type))
        return {};
    const auto text = read_blob(blobs, document->content.front().hex, document_limit);
    const auto config = text ? base::parse_json(*text, "") : base::Result<Json>(Json());
    std::string platform = config ? images::platform_of(*config) : std::string();
    return platform == "linux/386" || base::starts_with(platform + "/", "linux/arm/") ? "" : platform;
}

/// Returns the platform in the descriptor, else `parent`, the platform of the index that contains it. If both
/// are empty, reads the image's configuration, because layouts of skopeo state the platform only there.
std::string platform_of(const ImageStock& stock, const Descriptor& image, const std::string& parent) {
    if (!image.platform.empty())
        return image.platform;
    return parent.empty() ? configured_platform(*stock.blobs, image) : parent;
}

/// Records that hosts need a blob. `host` is a word of Member::hosts; empty: all hosts need the blob. May be
/// called several times for one blob.
Result<void> Collector::note_blob(const std::string& hex, std::uint64_t size, const std::string& host) {
    Blob& blob = blobs_.try_emplace(hex, Blob{size, {}, blobs_.size()}).first->second;
    if (blob.size != size)
        return base::fail(Errc::BadContent, "blob sha256:" + hex + ": size mismatch between descriptors");
    blob.hosts.insert(host);
    // Limits the work: for each platform, everything below the blob is visited again.
    if (blob.hosts.size() > most_platforms)
        return base::fail(Errc::BadContent, "blob sha256:" + hex + " is for more than " +
                                                std::to_string(most_platforms) + " platforms");
    return {};
}

Result<void> Collector::add_blob(const Walk& walk, const Descriptor& descriptor,
                                 const std::string& platform) {
    const auto found = walk.stock.blobs->open(descriptor.hex);
    const bool missing = !found && found.error().code == Errc::NotFound;
    if (missing && descriptor.elsewhere)
        return {}; // a layer that must not be redistributed
    if (missing)
        return base::fail(
            Errc::NotFound, "blob sha256:" + descriptor.hex + ": not found",
            platform.empty()
                ? ""
                : "Add the blobs for " + platform +
                      ", or leave that platform out of Platforms= in the bundle's specification.");
    if (!found)
        return base::fail(found.error());
    if (found->size != descriptor.size)
        return base::fail(Errc::BadContent, "blob sha256:" + descriptor.hex + ": size mismatch");
    GPUHOST_CHECK(note_blob(descriptor.hex, descriptor.size, platform));
    contents_.by_digest.try_emplace(descriptor.hex, walk.stock.blobs);
    return {};
}

/// Visits a blob, or a document and everything to which it refers. Recursive, because in a bundle each
/// document precedes the members to which it refers. `depth` is limited, so the stack is too.
Result<void> Collector::walk(Walk& walk, const Descriptor& descriptor, const std::string& platform,
                             unsigned depth) {
    if (!platform.empty() && !is_platform(platform))
        return base::fail(Errc::BadContent, "document sha256:" + descriptor.hex + ": invalid platform");
    GPUHOST_CHECK(add_blob(walk, descriptor, platform));
    if (!platform.empty())
        walk.platforms.insert(platform);
    if (!is_document(descriptor.media_type))
        return {};
    if (!walk.documents[descriptor.hex].insert(platform).second)
        return {};
    for (auto [one, end] = walk.stock.by_subject.equal_range(descriptor.hex); one != end; ++one)
        walk.due.emplace(walk.pass + (one->second < walk.next ? 1 : 0), one->second, platform);
    if (depth > most_nesting)
        return base::fail(Errc::BadContent, "indexes are nested too deeply");
    GPUHOST_TRY(document, read_document(*walk.stock.blobs, descriptor));
    if (!document.left_out.empty())
        return base::fail(Errc::Unsupported,
                          "the image index sha256:" + descriptor.hex + " has parts whose digests are not " +
                              "SHA-256: " + document.left_out.front(),
                          "Copy it through a registry, which assigns SHA-256 digests.");
    for (const Descriptor& child : document.content) {
        const std::string own = platform_of(walk.stock, child, platform);
        if (wanted(walk.source.platforms, own))
            GPUHOST_CHECK(this->walk(walk, child, own, depth + 1));
    }
    return {};
}

Result<void> Collector::add_image(const std::string& name, const Descriptor& image, const ImageSource& source,
                                  const ImageStock& stock) {
    const auto [known, is_new] = names_.emplace(name.empty() ? image.hex : name, image.hex);
    if (!is_new && known->second != image.hex)
        return base::fail(Errc::InvalidArgument, "image '" + name + "' occurs twice with different content",
                          "Give each image of a bundle its own name.");
    if (!is_new)
        return {};
    Walk walk{stock, source, {}, {}, {}};
    GPUHOST_CHECK(this->walk(walk, image, platform_of(stock, image, {}), 0));
    for (const std::string& platform : source.platforms)
        if (std::none_of(walk.platforms.begin(), walk.platforms.end(),
                         [&](const std::string& found) { return wanted({platform}, found); }) &&
            !walk.platforms.empty())
            return base::fail(Errc::NotFound, "has nothing for platform '" + platform + "'");
    GPUHOST_TRY(document, read_document(*stock.blobs, image));
    GPUHOST_TRY(made, make_image(name, image, document));
    made.platforms.assign(walk.platforms.begin(), walk.platforms.end());
    contents_.manifest.images.push_back(std::move(made));
    return add_referrers(walk);
}

Result<void> Collector::add_all(const ImageSource& source, const ImageStock& stock) {
    if (!stock.left_out.empty() && (stock.images.empty() || !source.unnamed))
        return base::fail(
            Errc::Unsupported, "image '" + stock.left_out.front() + "' has a digest that is not SHA-256",
            "Copy it through a registry, which assigns a SHA-256 digest, or list the other images by name.");
    if (stock.images.empty())
        return base::fail(Errc::NotFound, "has no images");
    for (const Descriptor& image : stock.images) {
        if (!is_document(image.media_type) || stock.is_about_another(image))
            continue; // not an image: the OCI specification allows other content in a layout
        const std::string name = own_name(image);
        if (name.empty() && !source.unnamed)
            return base::fail(Errc::InvalidArgument,
                              "image sha256:" + image.hex + " has no full name" +
                                  (image.names.empty() ? "" : ", only '" + image.names.front() + "'"),
                              "Name it with a section [Image NAME] and Reference=sha256:" + image.hex + ".");
        if (const auto added = add_image(name, image, source, stock); !added)
            return base::fail(
                added.error().context("image " + (name.empty() ? "sha256:" + image.hex : name)));
    }
    return {};
}

Result<void> Collector::add_images(const ImageSource& source, const ImageStock& stock) {
    if (source.name.empty())
        return add_all(source, stock);
    GPUHOST_TRY(chosen, choose_image(stock, source));
    if (!is_document(chosen.media_type))
        return base::fail(Errc::Unsupported, "sha256:" + chosen.hex + ": media type '" + chosen.media_type +
                                                 "' is not supported");
    return add_image(source.name, chosen, source, stock);
}

/// Adds the images whose subject is a visited index or manifest, such as signatures. Signatures may have
/// signatures too. The images are added in the order of the stock, whatever the order in which their subjects
/// were visited.
Result<void> Collector::add_referrers(Walk& walk) {
    while (!walk.due.empty()) {
        const auto [pass, at, platform] = walk.due.extract(walk.due.begin()).value();
        const auto& [descriptor, document] = walk.stock.referrers[at];
        if (walk.documents[descriptor.hex].count(platform) != 0)
            continue;
        walk.pass = pass;
        walk.next = at + 1;
        GPUHOST_CHECK(this->walk(walk, descriptor, platform, 0));
        if (!names_.emplace(descriptor.hex, descriptor.hex).second)
            continue;
        GPUHOST_TRY(image, make_image("", descriptor, document));
        contents_.manifest.images.push_back(std::move(image));
    }
    return {};
}

Result<void> Collector::add_artifact(const ArtifactSource& source, const CollectOptions& options) {
    GPUHOST_TRY(made, make_artifact(source, options));
    for (const NewArtifact& other : artifacts_)
        if (is_for_same_host(made, other))
            return base::fail(Errc::InvalidArgument,
                              "two sections assign " + source.kind + " " + source.name + " to the same host",
                              "Merge the sections, or name a platform in each; modules may have one section "
                              "for each Flavour=.");
    const std::string config = content::sha256(empty_config);
    const auto hosts = made.hosts.empty() ? std::vector<std::string>{""} : made.hosts;
    GPUHOST_CHECK(note_blob(config, empty_config.size(), "")); // every artifact has this empty configuration
    for (const std::string& host : hosts) {
        GPUHOST_CHECK(note_blob(made.artifact.hex, made.artifact.size, host));
        for (const NewArtifact::File& file : made.files)
            GPUHOST_CHECK(note_blob(file.hex, file.size, host));
    }
    for (NewArtifact::File& file : made.files)
        contents_.by_digest.try_emplace(file.hex, std::move(file.content)); // does not replace a text
    contents_.by_digest.insert_or_assign(made.artifact.hex, std::move(made.document));
    contents_.by_digest.insert_or_assign(config, std::string(empty_config));
    const auto same = [&](const NewArtifact& other) {
        return other.artifact.hex == made.artifact.hex && other.artifact.kernel == made.artifact.kernel &&
               other.artifact.flavour == made.artifact.flavour;
    };
    // An artifact that is listed already is for further hosts now, which are in the members' "hosts".
    if (std::none_of(artifacts_.begin(), artifacts_.end(), same))
        contents_.manifest.artifacts.push_back(made.artifact);
    artifacts_.push_back(std::move(made));
    return {};
}

void Collector::add_text(const std::string& path, std::string text) {
    Member member;
    member.hex = content::sha256(text);
    member.size = text.size();
    member.path = path;
    contents_.by_digest.insert_or_assign(member.hex, std::move(text));
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
    std::vector<Member>& members = contents_.manifest.members;
    add_text("oci-layout", std::string(layout_text));
    add_text("index.json", index_text(contents_.manifest));
    const std::size_t texts = members.size();
    members.resize(texts + blobs_.size());
    for (const auto& [hex, blob] : blobs_) {
        Member& member = members[texts + blob.order];
        member.hex = hex;
        member.size = blob.size;
        if (blob.hosts.count("") == 0)
            member.hosts.assign(blob.hosts.begin(), blob.hosts.end());
    }
}

} // namespace

Result<MemberBytes> Contents::open(const Member& member) const {
    const Content& content = by_digest.at(member.hex);
    if (const auto* const source = std::get_if<const BlobSource*>(&content)) {
        GPUHOST_TRY(bytes, (*source)->open(member.hex));
        return bytes_of(std::move(bytes.fd), bytes.offset, member.place());
    }
    const auto* const text = std::get_if<std::string>(&content);
    UniqueFd fd(text != nullptr ? ::memfd_create("member", MFD_CLOEXEC)
                                : ::open(std::get<std::filesystem::path>(content).c_str(),
                                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd)
        return base::fail_errno(member.place(), errno);
    if (text != nullptr)
        GPUHOST_CHECK(base::write_all(fd.get(), *text, member.place()));
    return bytes_of(std::move(fd), 0, member.place());
}

Result<Contents> collect(const BundleSpec& spec, const CollectOptions& options) {
    Contents contents;
    contents.manifest.name = spec.name;
    contents.manifest.generation = spec.generation;
    contents.manifest.created = options.created;
    Collector collector(contents);
    ImageStocks stocks(contents.sources, options.directory, options.scratch);
    for (const ImageSource& source : spec.images) {
        const auto stock = stocks.of(source);
        if (!stock)
            return base::fail(stock.error().context(source.where));
        if (auto added = collector.add_images(source, **stock); !added)
            return base::fail(added.error().context(title(source)).context(source.where));
    }
    for (const ArtifactSource& artifact : spec.artifacts)
        if (auto added = collector.add_artifact(artifact, options); !added)
            return base::fail(added.error().context(artifact.where));
    collector.finish();
    return contents;
}

Result<BundleManifest> describe(const ImageStock& stock, const std::string& bundle,
                                const std::string& platform) {
    Contents contents;
    contents.manifest.name = bundle;
    Collector collector(contents);
    ImageSource all;
    all.platforms = {platform};
    all.unnamed = true;
    GPUHOST_CHECK(collector.add_images(all, stock));
    collector.finish();
    // Texts of the images are untrusted, so this applies the checks that every reader of a manifest makes.
    return parse_bundle_manifest(to_text(contents.manifest), "the resulting manifest");
}

} // namespace gpuhost::images
