// SPDX-License-Identifier: Apache-2.0
#include "images/create/packages.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/host_facts.hpp"
#include "images/create/package_workshop.hpp"
#include "images/store/packages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t index_limit = std::size_t{1} << 30U;

const Tool apt_ftparchive{"apt-ftparchive", "apt-utils"};
const Tool createrepo{"createrepo_c", "createrepo_c (on Debian createrepo-c)"};
const Tool gpg{"gpg", "gnupg"};
const Tool gpgv{"gpgv", "gpgv (elsewhere gnupg2)"};

/// Returns a time as text for the Date of apt's Release files: RFC 5322 in UTC.
std::string date_of(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    struct tm parts {};
    std::array<char, 64> text{};
    ::gmtime_r(&time, &parts);
    const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S +0000", &parts);
    return {text.data(), size};
}

/// Fails if gpg does not have one of the secret keys. Asks for no passphrase.
Result<void> check_secret_keys(const Workshop& shop, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) // one call for each key: gpg would succeed if one of several exists
        GPUHOST_CHECK(shop.run(gpg, {"--batch", "--quiet", "--list-secret-keys", key}, ""));
    return {};
}

Result<void> sign(const Workshop& shop, const std::vector<std::string>& keys, const CollectOptions& options,
                  std::vector<std::string> words) {
    if (keys.empty())
        return {};
    if (options.dry_run)
        return check_secret_keys(shop, keys);
    // With the bundle's date as the time of the signature, the same input produces the same bytes, if the
    // key's algorithm allows that.
    std::vector<std::string> all{"--batch", "--quiet", "--faked-system-time",
                                 std::to_string(options.created) + "!"};
    for (const std::string& key : keys)
        all.insert(all.end(), {"--local-user", key});
    std::move(words.begin(), words.end(), std::back_inserter(all));
    return shop.run(gpg, std::move(all), "");
}

Result<void> make_apt(const Workshop& shop, const ArtifactSource& source, const CollectOptions& options) {
    GPUHOST_CHECK(shop.run(apt_ftparchive, {"packages", "."}, "Packages"));
    GPUHOST_CHECK(shop.run(
        apt_ftparchive, {"-o", "APT::FTPArchive::Release::Date=" + date_of(options.created), "release", "."},
        "Release"));
    return sign(shop, source.open_pgp, options, {"--clearsign", "--output", "InRelease", "Release"});
}

Result<void> make_dnf(const Workshop& shop, const ArtifactSource& source, const CollectOptions& options) {
    // Compresses with gzip, because older hosts cannot read newer formats.
    GPUHOST_CHECK(
        shop.run(createrepo,
                 {"--quiet", "--no-database", "--general-compress-type=gz", "--set-timestamp-to-revision",
                  "--revision=" + std::to_string(options.created), "."},
                 ""));
    return sign(shop, source.open_pgp, options,
                {"--armor", "--detach-sign", "--output", "repodata/repomd.xml.asc", "repodata/repomd.xml"});
}

Result<void> add_text(NewArtifact& made, const std::string& name, const std::string& path) {
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd)
        return base::fail_errno(path, errno);
    GPUHOST_TRY(text, base::read_all(fd.get(), index_limit, path));
    made.files.push_back({name, content::sha256(text), text.size(), std::move(text)});
    return {};
}

/// Adds the files in `tree` that the tools made: all that are not links. The links are the packages, which
/// are in `made` already.
Result<void> add_made(NewArtifact& made, const std::string& tree) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(tree, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string path = entry->path().string();
        if (fs::symlink_status(path, error).type() == fs::file_type::regular)
            GPUHOST_CHECK(add_text(made, fs::path(path).lexically_relative(tree).string(), path));
    }
    return error ? base::fail_errno(tree, error.value()) : Result<void>();
}

/// Returns ".deb" or ".rpm" if all files have this suffix; else fails with InvalidArgument.
Result<std::string> kind_of(const std::vector<NewArtifact::File>& files) {
    const auto all = [&](std::string_view kind) {
        return std::all_of(files.begin(), files.end(),
                           [&](const NewArtifact::File& file) { return base::ends_with(file.name, kind); });
    };
    for (const char* kind : {".deb", ".rpm"})
        if (all(kind))
            return std::string(kind);
    return base::fail(Errc::InvalidArgument,
                      "Files= lists files that are not packages, or packages of two kinds",
                      "Use either .deb or .rpm files in one section.");
}

/// Makes a repository of the packages in `made`, and adds its index files to `made`.
Result<void> make_repository(NewArtifact& made, const Workshop& shop, const ArtifactSource& source,
                             const CollectOptions& options) {
    GPUHOST_TRY(kind, kind_of(made.files));
    for (const NewArtifact::File& file : made.files)
        if (::symlink(std::get<fs::path>(file.content).c_str(), (shop.tree() + "/" + file.name).c_str()) < 0)
            return base::fail_errno(file.name, errno);
    GPUHOST_CHECK(kind == ".deb" ? make_apt(shop, source, options) : make_dnf(shop, source, options));
    return add_made(made, shop.tree());
}

/// Reports whether this is a link in dists/ to another directory in dists/, such as "stable" to "bookworm": a
/// second name of a suite.
bool is_second_name(const std::string& directory, const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_symlink() && entry.path().parent_path() == fs::path(directory) / "dists" &&
           fs::canonical(entry.path(), ignored).parent_path() ==
               fs::canonical(entry.path().parent_path(), ignored);
}

Result<void> add_key(NewArtifact& made, const Workshop& shop, const std::vector<std::string>& keys) {
    const std::string name(package_key);
    std::vector<std::string> words{"--batch",          "--quiet",        "--armor",
                                   "--export-options", "export-minimal", "--export"};
    words.insert(words.end(), keys.begin(), keys.end());
    GPUHOST_CHECK(shop.run(gpg, std::move(words), name));
    GPUHOST_CHECK(add_text(made, name, shop.tree() + "/" + name));
    if (made.files.back().size == 0) // gpg prints a warning for a missing key, but exits with 0
        return base::fail(Errc::NotFound, "gpg has no key '" + base::join(keys, " ") + "'");
    return {};
}

std::vector<std::string> names_of(const NewArtifact& made) {
    std::vector<std::string> names;
    for (const NewArtifact::File& file : made.files)
        names.push_back(file.name);
    return names;
}

/// Returns the repositories in `made`. Fails with InvalidArgument if there are none, or if a file occurs
/// twice.
Result<PackageTree> tree_of(const NewArtifact& made, const ArtifactSource& source) {
    const std::vector<std::string> names = names_of(made);
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        return base::fail(Errc::InvalidArgument, "the repository already contains '" + *twice + "'",
                          "Remove OpenPGPKey= to use that file as the key.");
    PackageTree tree = package_tree(source.name, names);
    if (tree.empty())
        return base::fail(
            Errc::InvalidArgument, "'" + source.directory + "' is not a repository",
            "Name a directory that contains dists/SUITE/Release, Packages or repodata/repomd.xml.");
    return tree;
}

/// Fails with InvalidArgument if none of the keys in the keyring has signed the index. Ignores further
/// signatures by unknown keys, because Debian's archive has several signatures.
Result<void> check_signature(const Workshop& shop, const ArtifactSource& source, const std::string& directory,
                             const IndexSignature& signature) {
    std::vector<std::string> words{"--status-fd", "2", "--keyring", shop.path("keyring"),
                                   directory + "/" + signature.file};
    if (!signature.index.empty())
        words.push_back(directory + "/" + signature.index);
    GPUHOST_TRY(finished, shop.attempt(gpgv, std::move(words)));
    bool good = false;
    bool bad = false;
    std::string said;
    // For these results, gpgv's text for people says "Good signature".
    constexpr std::array outdated{std::pair("EXPKEYSIG ", "the key has expired"),
                                  std::pair("REVKEYSIG ", "the key was revoked"),
                                  std::pair("EXPSIG ", "the signature has expired")};
    for (const std::string& line : base::split(finished.output, '\n')) {
        good = good || base::starts_with(line, "[GNUPG:] GOODSIG ");
        bad = bad || base::starts_with(line, "[GNUPG:] BADSIG ");
        if (!base::starts_with(line, "[GNUPG:] "))
            said += line + "\n";
        for (const auto& [word, why] : outdated)
            if (base::starts_with(line, "[GNUPG:] " + std::string(word)))
                said += std::string(why) + "\n";
    }
    if (good && !bad)
        return {};
    const std::string key =
        source.open_pgp.empty() ? std::string(package_key) : base::join(source.open_pgp, " ");
    return base::fail(Errc::InvalidArgument,
                      signature.file + " has no valid signature by " + key + ": " +
                          std::string(base::trim(said)),
                      "Name the key that signed it, or none: the bundle's signature covers its content.");
}

/// Verifies an existing repository with the key that the bundle contains. Fails if hosts would not accept it.
Result<void> check_signatures(const Workshop& shop, const ArtifactSource& source,
                              const std::string& directory, const NewArtifact& made,
                              const PackageTree& tree) {
    if (const std::string unsigned_part = tree.first_unsigned(); !unsigned_part.empty())
        return base::fail(Errc::InvalidArgument, unsigned_part + " is not signed",
                          "Leave out OpenPGPKey=: the bundle's signature covers its content.");
    const std::string key =
        (source.open_pgp.empty() ? directory : shop.tree()) + "/" + std::string(package_key);
    GPUHOST_CHECK(
        shop.run(gpg, {"--batch", "--quiet", "--output", shop.path("keyring"), "--dearmor", key}, ""));
    for (const IndexSignature& signature : tree.signatures(names_of(made)))
        GPUHOST_CHECK(check_signature(shop, source, directory, signature));
    return {};
}

} // namespace

Result<NewArtifact> make_packages(const ArtifactSource& source, const CollectOptions& options) {
    NewArtifact made;
    made.hosts = {host_word({source.platform, {}, source.name})};
    const std::string directory = // an absolute path, because the tools run in another directory
        fs::absolute(fs::path(options.directory) / source.directory).lexically_normal().string();
    const bool is_whole = !source.directory.empty();
    const auto second_name = [&](const fs::directory_entry& entry) {
        return is_second_name(directory, entry);
    };
    GPUHOST_CHECK(is_whole ? add_tree(made, directory, second_name)
                           : add_files(made, source, options.directory));
    GPUHOST_TRY(shop, Workshop::open(fs::absolute(options.scratch).string()));
    if (!is_whole)
        GPUHOST_CHECK(make_repository(made, shop, source, options));
    if (!source.open_pgp.empty())
        GPUHOST_CHECK(add_key(made, shop, source.open_pgp));
    std::sort(made.files.begin(), made.files.end(),
              [](const NewArtifact::File& a, const NewArtifact::File& b) { return a.name < b.name; });
    GPUHOST_TRY(tree, tree_of(made, source));
    if (is_whole && tree.has_key)
        GPUHOST_CHECK(check_signatures(shop, source, directory, made, tree));
    return made;
}

} // namespace gpuhost::images
