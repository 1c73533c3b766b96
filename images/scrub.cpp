// SPDX-License-Identifier: Apache-2.0
#include "images/scrub.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/sha256.hpp"
#include "images/blob_store.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

using OnBytes = std::function<void(std::uint64_t)>;

/// What is told one by one: a disk that is gone damages all, and status must stay a page.
constexpr std::size_t most_told = 1000;
constexpr std::size_t scrub_limit = 4U << 20U; ///< of scrub.json

/// Each blob once, with all that own it. `all` has one entry an owner.
std::vector<Owned> merge(std::vector<Owned> all) {
    std::sort(all.begin(), all.end());
    std::vector<Owned> merged;
    for (Owned& next : all)
        if (!merged.empty() && merged.back().blob.hex == next.blob.hex)
            merged.back().bundles.push_back(std::move(next.bundles.front()));
        else
            merged.push_back(std::move(next));
    return merged;
}

/// Why it is not what its name says; empty if it is. From the disk, past the page cache, which is for what the host's
/// jobs read; and twice, since a wrong bit on the way is no damage.
std::string damage_of(int fd, const Owned& owned, const OnBytes& on_bytes) {
    std::string why;
    for (const bool again : {false, true}) {
        (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        std::uint64_t at = 0;
        const auto digest = content::sha256_of_file(fd, owned.blob.hex, [&](std::uint64_t n) {
            (void)::posix_fadvise(fd, static_cast<off_t>(at), static_cast<off_t>(n), POSIX_FADV_DONTNEED);
            at += n;
            if (!again)
                on_bytes(n);
        });
        if (digest && digest->size == owned.blob.size && digest->sha256 == owned.blob.hex)
            return {};
        why = !digest                           ? "it can't be read: " + digest.error().message
              : digest->size == owned.blob.size ? "its bytes are not those of its digest"
                                                : "it has " + std::to_string(digest->size) +
                                                      " bytes instead of " + std::to_string(owned.blob.size);
    }
    return why;
}

/// Unless an import has put a good one in its place meanwhile.
bool take_name(const Root& root, int fd, const std::string& hex) {
    struct stat read {};
    const auto named = root.lstat(std::string(blobs_directory) + "/" + hex);
    if (!named || ::fstat(fd, &read) < 0 || read.st_ino != named->st_ino)
        return false;
    return BlobStore(root).remove(hex).has_value();
}

void scrub_blob(const Root& root, const Owned& owned, Scrub& scrub, const OnBytes& on_bytes) {
    const auto fd = BlobStore(root).open(owned.blob.hex);
    if (!fd) {
        const bool missing = fd.error().code == Errc::NotFound;
        scrub.damages.push_back({owned, missing ? "missing" : fd.error().message, false});
        return;
    }
    const std::string why = damage_of(fd->get(), owned, [&](std::uint64_t n) {
        scrub.bytes += n;
        if (on_bytes)
            on_bytes(n);
    });
    if (!why.empty())
        scrub.damages.push_back({owned, why, take_name(root, fd->get(), owned.blob.hex)});
}

Json to_json(const Damage& damage) {
    return {{"digest", "sha256:" + damage.owned.blob.hex},
            {"size", damage.owned.blob.size},
            {"bundles", damage.owned.bundles},
            {"why", damage.why},
            {"removed", damage.removed}};
}

/// A bundle that is gone wants it no longer; one that was imported again has it back.
bool still_so(const Root& root, const Json& damage) {
    const std::string digest = base::string_or(damage, "digest", "");
    const std::string hex = digest.substr(std::min<std::size_t>(digest.find(':') + 1, digest.size()));
    const auto bundles = base::strings_or_empty(damage, "bundles");
    const bool wanted = std::any_of(bundles.begin(), bundles.end(), [&](const std::string& name) {
        return is_bundle_name(name) && root.exists(std::string(catalogue_directory) + "/" + name);
    });
    return content::is_sha256(hex) && wanted &&
           !BlobStore(root).has(hex, static_cast<std::uint64_t>(base::int_or(damage, "size", 0)));
}

} // namespace

Result<Scrubber> Scrubber::open(const Root& root) {
    Scrubber scrubber(root);
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    std::vector<Owned> all;
    for (const std::string& name : names) {
        const auto blobs = catalogue.blobs(name);
        if (!blobs)
            scrubber.problems_.push_back("bundle '" + name + "': " + blobs.error().message);
        for (const OwnedBlob& blob : blobs.value_or(std::vector<OwnedBlob>()))
            all.push_back({blob, {name}});
    }
    scrubber.blobs_ = merge(std::move(all));
    return scrubber;
}

std::uint64_t Scrubber::total_bytes() const {
    std::uint64_t bytes = 0;
    for (const Owned& owned : blobs_)
        bytes += owned.blob.size;
    return bytes;
}

Scrub Scrubber::run(const std::function<void(std::uint64_t)>& on_bytes) const {
    Scrub scrub;
    scrub.blobs = blobs_.size();
    scrub.problems = problems_;
    for (const Owned& owned : blobs_)
        scrub_blob(*root_, owned, scrub, on_bytes);
    scrub.finished = base::realtime_us() / 1'000'000;
    return scrub;
}

Json to_json(const Scrub& scrub) {
    Json damaged = Json::array();
    for (const Damage& damage : scrub.damages)
        if (damaged.size() < most_told)
            damaged.push_back(to_json(damage));
    const std::size_t more = scrub.damages.size() - damaged.size();
    return {{"finished", scrub.finished},    {"blobs", scrub.blobs}, {"bytes", scrub.bytes},
            {"damaged", std::move(damaged)}, {"more", more},         {"problems", scrub.problems}};
}

Result<void> write_scrub(const Root& root, const Scrub& scrub) {
    return root.write_atomic(scrub_file, base::dump(to_json(scrub)));
}

Json last_scrub(const Root& root) {
    const auto text = read_plain_file(root, scrub_file, scrub_limit);
    auto scrub = text ? base::parse_json(*text, "scrub.json") : base::fail(text.error());
    if (!scrub || !scrub->is_object())
        return nullptr;
    Json damaged = Json::array();
    for (const Json& damage : base::member(*scrub, "damaged"))
        if (still_so(root, damage))
            damaged.push_back(damage);
    (*scrub)["damaged"] = std::move(damaged);
    return std::move(*scrub);
}

} // namespace gpuhost::images
