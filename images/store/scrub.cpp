// SPDX-License-Identifier: Apache-2.0
#include "images/store/scrub.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/plain_file.hpp"
#include "images/bundle/reference.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

using OnBytes = std::function<void(std::uint64_t)>;

/// Limit of the damaged blobs that a JSON document lists. After the loss of a disk all blobs are damaged, and
/// the output of 'status' must stay short.
constexpr std::size_t most_listed = 1000;
constexpr std::size_t scrub_limit = 4U << 20U; ///< bytes of scrub.json
/// If more blobs than this are unreadable, the disk is assumed to be disconnected, and unreadable blobs are
/// not removed.
constexpr std::size_t most_unreadable = 16;

std::string path_of(const std::string& hex) {
    return std::string(blobs_directory) + "/" + hex;
}

/// Hashes a file from the disk: drops its pages from the page cache before and after reading them. This also
/// leaves memory for other programs.
Result<content::FileDigest> read_from_disk(int fd, const std::string& hex, const OnBytes& on_bytes) {
    (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    std::uint64_t at = 0;
    return content::sha256_of_file(fd, hex, [&](std::uint64_t n) {
        (void)::posix_fadvise(fd, static_cast<off_t>(at), static_cast<off_t>(n), POSIX_FADV_DONTNEED);
        at += n;
        if (on_bytes)
            on_bytes(n);
    });
}

std::uint64_t changed_ns(const struct stat& st) {
    constexpr std::uint64_t second = 1'000'000'000;
    return static_cast<std::uint64_t>(st.st_ctim.tv_sec) * second +
           static_cast<std::uint64_t>(st.st_ctim.tv_nsec);
}

/// Sets `damage.why` if the content does not match the digest in `damage`; else leaves it empty. Reads a
/// second time after a mismatch, because a bit error on the way from the disk is not damage.
void examine(int fd, Damage& damage, const OnBytes& on_bytes) {
    struct stat st {};
    if (::fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        damage.why = "not a regular file";
        return;
    }
    damage.inode = st.st_ino;
    damage.changed_ns = changed_ns(st);
    if (static_cast<std::uint64_t>(st.st_size) != damage.blob.size) {
        damage.why = "size mismatch: " + std::to_string(st.st_size) + " bytes instead of " +
                     std::to_string(damage.blob.size);
        return;
    }
    const auto once = read_from_disk(fd, damage.blob.hex, on_bytes);
    if (once && once->sha256 == damage.blob.hex)
        return;
    const auto again = read_from_disk(fd, damage.blob.hex, {});
    if (again && again->sha256 == damage.blob.hex)
        return;
    damage.readable = once && again && once->sha256 == again->sha256;
    damage.why = damage.readable ? "digest mismatch"
                 : !again        ? "can't be read: " + again.error().message
                 : !once         ? "can't be read: " + once.error().message
                                 : "two reads gave different bytes";
}

/// Reports whether a bundle owns a blob at present. Reads the list of each bundle once.
class Owners {
  public:
    explicit Owners(const Root& root) : catalogue_(root) {}
    bool owns(const std::string& bundle, const std::string& hex) {
        const auto [at, is_new] = blobs_.try_emplace(bundle);
        if (is_new)
            if (auto blobs = catalogue_.blobs(bundle))
                at->second = *std::move(blobs);
        const auto found =
            std::lower_bound(at->second.begin(), at->second.end(), hex,
                             [](const OwnedBlob& blob, const std::string& h) { return blob.hex < h; });
        return found != at->second.end() && found->hex == hex;
    }

  private:
    Catalogue catalogue_;
    std::map<std::string, std::vector<OwnedBlob>> blobs_;
};

/// Removes from the results the blobs that no bundle owns any more: a scrub may run for hours, and bundles
/// change meanwhile.
void drop_unowned(const Root& root, std::vector<Damage>& damages) {
    Owners owners(root);
    for (Damage& damage : damages)
        std::erase_if(damage.bundles,
                      [&](const std::string& bundle) { return !owners.owns(bundle, damage.blob.hex); });
    std::erase_if(damages, [](const Damage& damage) { return damage.bundles.empty(); });
}

/// Removes the damaged blob from the store, unless an import has replaced its file meanwhile. Returns whether
/// it was removed.
bool remove_blob(const Root& root, const Damage& damage) {
    const auto named = root.lstat(path_of(damage.blob.hex));
    return named && damage.inode != 0 && named->st_ino == damage.inode &&
           changed_ns(*named) == damage.changed_ns && BlobStore(root).remove(damage.blob.hex).has_value();
}

bool is_unreadable(const Damage& damage) {
    return !damage.missing && !damage.readable;
}

/// Reads blobs with read errors again, because a disconnected disk may be connected again. Drops those that
/// are intact.
void read_again(const Root& root, std::vector<Damage>& damages) {
    for (Damage& damage : damages)
        if (is_unreadable(damage))
            if (const auto fd = BlobStore(root).open(damage.blob.hex)) {
                Damage now{damage.blob, damage.bundles, {}};
                examine(fd->get(), now, {});
                damage = std::move(now);
            }
    std::erase_if(damages, [](const Damage& damage) { return damage.why.empty(); });
}

void remove_damaged(const Root& root, std::vector<Damage>& damages, std::uint64_t blobs) {
    const auto unreadable =
        static_cast<std::size_t>(std::count_if(damages.begin(), damages.end(), is_unreadable));
    const bool is_away = unreadable > most_unreadable || unreadable == blobs;
    for (Damage& damage : damages)
        if (!damage.missing && (damage.readable || !is_away))
            damage.removed = remove_blob(root, damage);
}

Json to_json(const Damage& damage) {
    return {{"digest", "sha256:" + damage.blob.hex},
            {"size", damage.blob.size},
            {"bundles", damage.bundles},
            {"why", damage.why},
            {"removed", damage.removed || damage.missing}};
}

/// Reports whether any of these bundles still has the manifest that it had during the scrub.
bool is_wanted(const Root& root, const std::vector<std::string>& bundles, const Json& manifests) {
    return std::any_of(bundles.begin(), bundles.end(), [&](const std::string& name) {
        const auto record = Catalogue(root).record(name);
        return record && record->manifest == base::string_or(manifests, name, "");
    });
}

/// Reports whether an entry of scrub.json is still true: a bundle still owns the blob, and it was not
/// imported again after its removal.
bool still_so(const Root& root, const Json& damage, const Json& manifests) {
    const std::string hex(digest_hex(base::string_or(damage, "digest", "")));
    const auto size = static_cast<std::uint64_t>(base::int_or(damage, "size", 0));
    return !hex.empty() && is_wanted(root, base::strings_or_empty(damage, "bundles"), manifests) &&
           (!base::bool_or(damage, "removed", true) || !BlobStore(root).has(hex, size));
}

} // namespace

Result<Scrubber> Scrubber::open(const Root& root) {
    Scrubber scrubber(root);
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    for (const std::string& name : names)
        if (auto blobs = catalogue.blobs(name))
            scrubber.bundles_.push_back({name, *std::move(blobs)});
        else
            scrubber.problems_.push_back("bundle '" + name + "': " + blobs.error().message);
    scrubber.for_each([&](const OwnedBlob& blob, const std::vector<std::string>&) {
        ++scrubber.blobs_;
        scrubber.total_bytes_ += blob.size;
    });
    return scrubber;
}

void Scrubber::for_each(const std::function<void(const OwnedBlob&, std::vector<std::string>)>& take) const {
    std::vector<std::size_t> at(bundles_.size());
    for (;;) {
        const OwnedBlob* first = nullptr;
        for (std::size_t i = 0; i < bundles_.size(); ++i)
            if (at[i] < bundles_[i].blobs.size() &&
                (first == nullptr || bundles_[i].blobs[at[i]].hex < first->hex))
                first = &bundles_[i].blobs[at[i]];
        if (first == nullptr)
            return;
        std::vector<std::string> owners;
        for (std::size_t i = 0; i < bundles_.size(); ++i)
            if (at[i] < bundles_[i].blobs.size() && bundles_[i].blobs[at[i]].hex == first->hex) {
                owners.push_back(bundles_[i].name);
                ++at[i];
            }
        take(*first, std::move(owners));
    }
}

Scrub Scrubber::run(const OnBytes& on_bytes) const {
    Scrub scrub;
    scrub.blobs = blobs_;
    scrub.problems = problems_;
    const auto count = [&](std::uint64_t n) {
        scrub.bytes += n;
        if (on_bytes)
            on_bytes(n);
    };
    for_each([&](const OwnedBlob& blob, std::vector<std::string> owners) {
        Damage damage{blob, std::move(owners), {}};
        if (const auto fd = BlobStore(*root_).open(blob.hex)) {
            examine(fd->get(), damage, count);
        } else {
            damage.missing = fd.error().code == Errc::NotFound;
            damage.readable = false;
            damage.why = damage.missing ? "missing" : fd.error().message;
        }
        if (!damage.why.empty())
            scrub.damages.push_back(std::move(damage));
    });
    read_again(*root_, scrub.damages);
    drop_unowned(*root_, scrub.damages);
    remove_damaged(*root_, scrub.damages, blobs_);
    for (const Damage& damage : scrub.damages)
        for (const std::string& bundle : damage.bundles)
            if (scrub.bundles.count(bundle) == 0)
                if (const auto record = Catalogue(*root_).record(bundle))
                    scrub.bundles[bundle] = record->manifest;
    scrub.finished = base::realtime_us() / 1'000'000;
    return scrub;
}

Json to_json(const Scrub& scrub) {
    Json damaged = Json::array();
    for (const Damage& damage : scrub.damages)
        if (damaged.size() < most_listed)
            damaged.push_back(to_json(damage));
    const std::size_t more = scrub.damages.size() - damaged.size();
    return {{"finished", scrub.finished},    {"blobs", scrub.blobs}, {"bytes", scrub.bytes},
            {"damaged", std::move(damaged)}, {"more", more},         {"manifests", scrub.bundles},
            {"problems", scrub.problems}};
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
        if (damaged.size() < most_listed && still_so(root, damage, base::member(*scrub, "manifests")))
            damaged.push_back(damage);
    (*scrub)["damaged"] = std::move(damaged);
    return std::move(*scrub);
}

} // namespace gpuhost::images
