// SPDX-License-Identifier: Apache-2.0
#include "images/import/foreign_import.hpp"

#include "daemon/base/page_buffer.hpp"
#include "daemon/base/parse.hpp"
#include "images/create/create.hpp"
#include "images/create/image_stock.hpp"
#include "images/foreign/foreign.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;
using base::UniqueFd;
using content::FileDigest;

namespace {

/// Name of the incoming directory until the manifest is made. The directory is then renamed to the manifest's
/// digest.
constexpr std::string_view unpacking = "unsigned";
constexpr const char* unnamed_blob = "blob";
constexpr std::size_t block_bytes = 1U << 20U;

/// Writes blobs into the incoming directory, each in a file named by its digest. Keeps no copy of a blob that
/// the store has already, and reads that blob from the store.
class IncomingBlobs : public BlobSink {
  public:
    static Result<IncomingBlobs> create(const Root& root) {
        GPUHOST_CHECK(root.make_directories(incoming_of(unpacking)));
        GPUHOST_TRY(directory, root.open_file(incoming_of(unpacking), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
        return IncomingBlobs(root, std::move(directory));
    }

    Result<FileDigest> add(std::uint64_t most, const Write& write) override;
    [[nodiscard]] Result<BlobBytes> open(const std::string& hex) const override;

  private:
    IncomingBlobs(const Root& root, UniqueFd directory) : root_(&root), directory_(std::move(directory)) {}
    const Root* root_;
    UniqueFd directory_;
};

Result<FileDigest> IncomingBlobs::add(std::uint64_t most, const Write& write) {
    GPUHOST_CHECK(check_space(*root_, most, std::string(unpacking)));
    const UniqueFd fd(::openat(directory_.get(), unnamed_blob,
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd)
        return base::fail_errno("writing a blob", errno);
    GPUHOST_TRY(written, write(fd.get()));
    const int done =
        BlobStore(*root_).has(written.sha256, written.size)
            ? ::unlinkat(directory_.get(), unnamed_blob, 0)
            : ::renameat(directory_.get(), unnamed_blob, directory_.get(), written.sha256.c_str());
    if (done < 0)
        return base::fail_errno("writing a blob", errno);
    return std::move(written);
}

Result<BlobBytes> IncomingBlobs::open(const std::string& hex) const {
    UniqueFd fd(::openat(directory_.get(), hex.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd && errno == ENOENT) {
        GPUHOST_TRY(stored, BlobStore(*root_).open(hex));
        fd = std::move(stored);
    }
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0)
        return base::fail_errno("blob sha256:" + hex, errno);
    return BlobBytes{std::move(fd), 0, static_cast<std::uint64_t>(st.st_size)};
}

Result<FileDigest> copy(const BlobBytes& from, int to, const OnBytes& on_bytes) {
    content::Sha256 hash;
    const base::PageBuffer buffer(block_bytes);
    std::uint64_t done = 0;
    while (done < from.size) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), from.size - done));
        const ssize_t n = ::pread(from.fd.get(), buffer.data(), most, static_cast<off_t>(from.offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno("reading a blob", errno);
        if (n == 0)
            break;
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        GPUHOST_CHECK(base::write_all(to, bytes, "a blob"));
        hash.update(bytes);
        done += bytes.size();
        if (on_bytes)
            on_bytes(bytes.size());
    }
    return FileDigest{hash.finish(), done};
}

Result<void> store_blobs(const Root& root, const BundleManifest& manifest, const BlobSource& from,
                         const HostFacts& host, BlobSink& blobs, const OnBytes& on_bytes) {
    const BlobStore store(root);
    const auto is_wanted = [&](const Member& member) {
        return member.is_blob() && host.needs(member) && !store.has(member.hex, member.size);
    };
    std::uint64_t missing = 0;
    for (const Member& member : manifest.members)
        missing += is_wanted(member) ? member.size : 0;
    GPUHOST_CHECK(check_space(root, missing, std::string(unpacking)));
    for (const Member& member : manifest.members) {
        if (!is_wanted(member))
            continue;
        GPUHOST_TRY(bytes, from.open(member.hex));
        GPUHOST_TRY(written, blobs.add(member.size, [&](int fd) { return copy(bytes, fd, on_bytes); }));
        if (written.sha256 != member.hex)
            return base::fail(Errc::BadContent, "blob sha256:" + member.hex + ": digest mismatch");
    }
    return {};
}

/// Adds the name of the input directory to an error about a path in it. Adds a hint if access was denied.
base::Error of_directory(base::Error error, const std::string& file) {
    if (error.code == Errc::AccessDenied && error.hint.empty())
        error.hint = "Make it readable for all users with 'chmod -R a+rX': another user imports it.";
    return error.context(file);
}

std::string and_others(std::size_t all) {
    return all > 1 ? " (and " + std::to_string(all - 1) + " more)" : "";
}

std::vector<std::string> warnings_of(const ImageStock& stock, const BundleManifest& manifest) {
    std::vector<std::string> warnings;
    if (!stock.left_out.empty())
        warnings.push_back("left out image '" + stock.left_out.front() + "'" +
                           and_others(stock.left_out.size()) + " without a SHA-256 digest");
    std::vector<std::string> unnamed;
    for (const BundleImage& image : manifest.images)
        if (image.name.empty() && image.subject.empty())
            unnamed.push_back(image.hex);
    if (!unnamed.empty())
        warnings.push_back("image sha256:" + unnamed.front() + and_others(unnamed.size()) +
                           " has no full name, so no runtime can pull it; import a file with one image with "
                           "--image-name REPOSITORY:TAG");
    return warnings;
}

/// Makes the manifest of the images for this host's platform, and warnings about images that are left out or
/// have no name.
Result<ForeignBundle> choose(Document index, const BlobSource& blobs, const ForeignInput& input,
                             const std::string& bundle, const HostFacts& host) {
    GPUHOST_TRY(stock, make_stock(std::move(index), blobs));
    if (!input.image.empty())
        GPUHOST_CHECK(name_only_image(stock, input.image));
    GPUHOST_TRY(manifest, describe(stock, bundle, host.platform));
    auto warnings = warnings_of(stock, manifest);
    return ForeignBundle{std::move(manifest), std::move(warnings)};
}

Result<ForeignBundle> read_directory(const Root& root, const ForeignInput& input, const std::string& bundle,
                                     const HostFacts& host, BlobSink& blobs, const OnBytes& on_bytes) {
    UniqueFd fd(::fcntl(input.fd, F_DUPFD_CLOEXEC, 3));
    if (!fd)
        return base::fail_errno(input.file, errno);
    // With the name "/", Root::is_host() would be true for the layout's directory.
    const LayoutDirectory layout(Root::of(std::move(fd), input.file == "/" ? "/." : input.file));
    GPUHOST_TRY(index, read_layout_index(layout.root()));
    GPUHOST_TRY(found, choose(std::move(index), layout, input, bundle, host));
    GPUHOST_CHECK(store_blobs(root, found.manifest, layout, host, blobs, on_bytes));
    return std::move(found);
}

Result<ForeignBundle> unpack_archive(const ForeignInput& input, const std::string& bundle,
                                     const HostFacts& host, BlobSink& blobs, const OnBytes& on_bytes) {
    GPUHOST_TRY(reader, content::ArchiveReader::open(input.fd, content::ArchiveFormat::Tar, input.file,
                                                     image_archive_limits));
    GPUHOST_TRY(index, read_image_archive(std::move(reader), input.file, blobs, on_bytes));
    return choose(std::move(index), blobs, input, bundle, host);
}

Result<struct stat> stat_of(const ForeignInput& input) {
    struct stat st {};
    if (::fstat(input.fd, &st) < 0)
        return base::fail_errno(input.file, errno);
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return st;
    return base::fail(Errc::InvalidArgument, input.file + ": neither a file nor a directory",
                      "Save it to a file first.");
}

Result<ForeignBundle> read_input(const Root& root, const ForeignInput& input, const std::string& bundle,
                                 const HostFacts& host, const OnBytes& on_bytes) {
    GPUHOST_TRY(st, stat_of(input));
    GPUHOST_TRY(blobs, IncomingBlobs::create(root));
    if (!S_ISDIR(st.st_mode))
        return unpack_archive(input, bundle, host, blobs, on_bytes);
    auto found = read_directory(root, input, bundle, host, blobs, on_bytes);
    return found ? std::move(found) : base::fail(of_directory(std::move(found).error(), input.file));
}

Result<void> write_manifest(const Root& root, const BundleManifest& manifest, const ImportPolicy& policy) {
    const std::string digest = identity(manifest);
    const auto present = Catalogue(root).record(manifest.name);
    if (present && present->manifest != digest && !policy.allow_downgrade)
        return base::fail(
            Errc::Refused, "bundle '" + manifest.name + "' already exists with other images",
            "Pass another name with --name NAME, or replace that bundle with --allow-downgrade.");
    GPUHOST_CHECK(
        root.write_atomic(incoming_of(unpacking) + "/" + std::string(unsigned_manifest), to_text(manifest)));
    GPUHOST_CHECK(root.rename(incoming_of(unpacking), incoming_of(digest)));
    return mark_received(root, {manifest.name, digest});
}

} // namespace

Result<void> check_foreign_input(const Root& root, const ForeignInput& input, const std::string& bundle) {
    GPUHOST_TRY(st, stat_of(input));
    const auto present = Catalogue(root).record(bundle);
    if (!present && present.error().code != Errc::NotFound) // a damaged record may be that of a signed bundle
        return base::fail(present.error());
    if (present && present->is_signed())
        return base::fail(Errc::Refused,
                          "bundle '" + bundle + "' already exists, signed by " + present->signer.subject,
                          "Pass another name for the unsigned images: --name NAME.");
    // If the bundle exists, most blobs may be in the store already. Which ones is known only after unpacking.
    return S_ISREG(st.st_mode) && !present ? check_space(root, static_cast<std::uint64_t>(st.st_size), "")
                                           : Result<void>();
}

std::uint64_t unpacked_size(const Root& root, const ForeignInput& input) {
    struct stat st {};
    if (::fstat(input.fd, &st) < 0 || !S_ISDIR(st.st_mode))
        return static_cast<std::uint64_t>(st.st_size);
    constexpr std::string_view blobs = "/blobs/sha256";
    const Root layout = Root::of(UniqueFd(::fcntl(input.fd, F_DUPFD_CLOEXEC, 3)), "/.");
    const BlobStore store(root);
    std::uint64_t bytes = 0;
    for (const std::string& hex : layout.list(blobs).value_or(std::vector<std::string>()))
        if (const auto blob = layout.lstat(std::string(blobs) + "/" + hex); blob && S_ISREG(blob->st_mode)) {
            const auto size = static_cast<std::uint64_t>(blob->st_size);
            bytes += store.has(hex, size) ? 0 : size;
        }
    return bytes;
}

Result<ForeignBundle> add_foreign_images(const Root& root, const ForeignInput& input,
                                         const std::string& bundle, const HostFacts& host,
                                         const ImportPolicy& policy, const OnBytes& on_bytes) {
    GPUHOST_CHECK(remove_other_incoming(root, ""));
    GPUHOST_CHECK(check_foreign_input(root, input, bundle));
    auto found = read_input(root, input, bundle, host, on_bytes);
    auto written = found ? write_manifest(root, found->manifest, policy) : base::fail(found.error());
    if (written)
        return found;
    GPUHOST_CHECK(remove_other_incoming(root, ""));
    return base::fail(std::move(written).error());
}

std::string bundle_name_of(const std::string& file) {
    constexpr std::array suffixes{".zst", ".gz", ".xz", ".bz2", ".lz4", ".tar", ".tgz", ".tzst", ".tbz"};
    const auto last = file.find_last_not_of('/');
    std::string name = last == std::string::npos ? "" : file.substr(0, last + 1);
    name = name.substr(name.rfind('/') + 1);
    for (const std::string_view suffix : suffixes)
        if (base::ends_with(name, suffix))
            name.resize(name.size() - suffix.size());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
        const bool fine = std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
        return fine ? static_cast<char>(std::tolower(c)) : '-';
    });
    return name;
}

} // namespace gpuhost::images
