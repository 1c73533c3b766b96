// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/collect/gather.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr const char* other_archive =
    "name all archives with --mirror URL, which replaces the distribution's servers";
constexpr std::uint64_t spare_bytes = std::uint64_t{64} << 20U; ///< beside the packages: indexes, records

struct Wanted {
    ArchivePackage package;
    CollectedItem item;
};

CollectedItem item_of(const ArchivePackage& package, const std::string& directory, std::string driver) {
    CollectedItem item{
        driver.empty() ? "package" : "driver", package.name,  package.version, directory + "/" + package.file,
        without_password(package.url),         package.sha256};
    item.size = package.size;
    item.driver = std::move(driver);
    return item;
}

/// Returns the package in exactly this driver version; null if the archive does not have it.
const ArchivePackage* find(const std::vector<ArchivePackage>& archive, const std::string& name,
                           const std::string& version) {
    const auto found = std::find_if(archive.begin(), archive.end(), [&](const ArchivePackage& one) {
        return one.name == name && one.upstream() == version;
    });
    return found == archive.end() ? nullptr : &*found;
}

/// Returns the driver versions of the archive, by the versions of one package.
std::string versions_in(const std::vector<ArchivePackage>& archive, const std::string& name) {
    std::vector<std::string> versions;
    for (const ArchivePackage& one : archive)
        if (one.name == name && std::find(versions.begin(), versions.end(), one.upstream()) == versions.end())
            versions.push_back(one.upstream());
    return base::join(versions, ", ");
}

/// Adds the packages of one driver version. Reports each that the archive lacks.
Result<void> add_driver(Gathering& gathering, const Apt& apt, const std::string& version,
                        std::vector<Wanted>& wanted) {
    const auto sets = driver_packages(*gathering.request.distribution, version);
    std::vector<std::string> names;
    for (const DriverPackages& set : sets)
        for (const auto* part : {&set.needed, &set.sources, &set.optional})
            names.insert(names.end(), part->begin(), part->end());
    GPUHOST_TRY(archive, apt.show(names));
    const auto has = [&](const std::string& name) { return find(archive, name, version) != nullptr; };
    const auto set =
        std::find_if(sets.begin(), sets.end(), [&](const DriverPackages& one) { return has(one.needed[0]); });
    const std::string files = "pass its packages with --driver-files.";
    if (set == sets.end()) {
        const std::string known = versions_in(archive, sets[0].needed[0]);
        gathering.miss("driver " + version,
                       "not in the archive of " + std::string(gathering.request.distribution->name) +
                           (known.empty() ? "" : ", which has " + known),
                       known.empty() ? "Instead, " + files + " Or " + other_archive + "."
                                     : "Use --driver with a version that it has, or " + files);
        return {};
    }
    std::vector<ArchivePackage> found;
    for (const auto* part : {&set->needed, &set->sources, &set->optional})
        for (const std::string& name : *part)
            if (const ArchivePackage* const package = find(archive, name, version))
                found.push_back(*package);
            else if (part == &set->needed)
                gathering.miss(name + " of driver " + version, "not in the archive", "Instead, " + files);
    if (std::none_of(set->sources.begin(), set->sources.end(), has))
        gathering.miss("source of the kernel modules of driver " + version,
                       "the archive has none of " + base::join(set->sources, ", "), "Instead, " + files);
    GPUHOST_CHECK(apt.add_urls(found));
    for (const ArchivePackage& package : found)
        wanted.push_back({package, item_of(package, "driver/" + version, version)});
    return {};
}

/// Returns the kernels of the same flavour for which the archive has headers; at most six.
Result<std::string> kernels_with_headers(const Apt& apt, const std::string& kernel) {
    constexpr std::string_view prefix = "linux-headers-";
    GPUHOST_TRY(kernels, apt.names(std::string(prefix) + kernel.substr(0, kernel.find('-') + 1)));
    const std::string flavour = kernel.substr(std::min(kernel.size(), kernel.rfind('-')));
    const auto dashes = std::count(kernel.begin(), kernel.end(), '-');
    for (std::string& name : kernels)
        name.erase(0, prefix.size());
    std::erase_if(kernels, [&](const std::string& one) {
        return !base::ends_with(one, flavour) || std::count(one.begin(), one.end(), '-') != dashes;
    });
    const auto number = [](std::string text) { // "6.1.0-50-amd64" → "6.1.0.50"
        text.erase(std::min(text.size(), text.rfind('-')));
        std::replace(text.begin(), text.end(), '-', '.');
        return text;
    };
    std::sort(kernels.begin(), kernels.end(), [&](const std::string& a, const std::string& b) {
        return base::compare_numbers(number(a), number(b)) > 0; // the newest first
    });
    kernels.resize(std::min<std::size_t>(kernels.size(), 6));
    return base::join(kernels, ", ");
}

/// Returns the words for apt: the packages that the archive has, and the .deb files. Reports the others.
Result<std::vector<std::string>> wanted_words(Gathering& gathering, const Apt& apt) {
    const CollectRequest& request = gathering.request;
    std::vector<std::string> words = request.packages;
    if (!request.drivers.empty() || !request.kernels.empty())
        for (const std::string& name : build_packages())
            words.push_back(name);
    std::map<std::string, std::string> headers; // package → kernel
    for (const std::string& kernel : request.kernels)
        words.push_back(headers.emplace("linux-headers-" + kernel, kernel).first->first);
    GPUHOST_TRY(archive, apt.show(words));
    std::vector<std::string> found;
    for (const std::string& word : words) {
        if (std::any_of(archive.begin(), archive.end(),
                        [&](const ArchivePackage& one) { return one.name == word || one.word() == word; })) {
            found.push_back(word);
            continue;
        }
        std::string hint = std::string("Check the name and version, or ") + other_archive + ".";
        if (headers.count(word) != 0) {
            GPUHOST_TRY(known, kernels_with_headers(apt, headers[word]));
            hint = (known.empty() ? std::string() : "The archive has headers of " + known + ". ") +
                   "Update the hosts' kernel, or " + other_archive + ".";
        }
        gathering.miss("package " + word, "not in the archive", hint);
    }
    found.insert(found.end(), request.files.begin(), request.files.end());
    return found;
}

/// Reports whether the request has this package by name.
bool is_named(const Gathering& gathering, const ArchivePackage& package) {
    const auto& names = gathering.request.packages;
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return name == package.name || name == package.word();
    });
}

/// Adds packages with all their dependencies, except what each host has.
Result<void> add_packages(Gathering& gathering, const Apt& apt, std::vector<Wanted>& wanted) {
    GPUHOST_TRY(words, wanted_words(gathering, apt));
    if (words.empty())
        return {};
    auto packages = apt.resolve(words);
    if (!packages && packages.error().code == Errc::Failed) {
        gathering.miss(
            "dependencies of " + base::join(words, " "), packages.error().message,
            std::string("If packages conflict, collect them into separate directories. If the archive "
                        "lacks a dependency, ") +
                other_archive + ".");
        return {};
    }
    if (!packages)
        return base::fail(packages.error());
    for (const ArchivePackage& package : *packages)
        if (gathering.request.host_status.empty() && package.is_on_every_host() &&
            !is_named(gathering, package))
            gathering.result.on_every_host.push_back(package.name);
        else
            wanted.push_back({package, item_of(package, "packages", "")});
    return {};
}

/// Fails with NoSpace if the packages do not fit on the disk.
Result<void> check_space(const Gathering& gathering, const std::vector<Wanted>& wanted) {
    std::uint64_t needed = 0;
    for (const Wanted& one : wanted)
        needed += one.item.size;
    GPUHOST_TRY(free, gathering.directory.free_bytes("/"));
    if (needed == 0 || needed + spare_bytes <= free)
        return {};
    return base::fail(Errc::NoSpace,
                      "'" + gathering.request.directory + "' has " + human_bytes(free) +
                          " free, the packages need " + human_bytes(needed),
                      "Name a directory on a larger disk: --directory DIRECTORY.");
}

/// For the path of a downloaded package, the number of places that it does not have yet: one package may have
/// two, as a driver's and as a host's.
using Uses = std::map<std::string, std::size_t>;

/// Gives a downloaded package its place. It remains in incoming() until its last place. Returns false if its
/// digest differs from the index.
Result<bool> place(const Gathering& gathering, const Apt& apt, const Wanted& one, Uses& uses) {
    const std::string from = apt.incoming(one.package);
    const std::string to = gathering.request.directory + "/" + one.item.file;
    GPUHOST_TRY(incoming, base::Root::open(apt.incoming()));
    if (digest_of(incoming, fs::path(from).filename().string()) != one.item.sha256) {
        std::error_code ignored;
        fs::remove(from, ignored);
        return false;
    }
    GPUHOST_CHECK(make_directory(directory_of(to)));
    std::error_code error;
    std::string path = from;
    if (--uses[from] > 0) {
        path = to + ".part";
        fs::remove(path, error);
        fs::create_hard_link(from, path, error);
        if (error) // not on every file system
            fs::copy_file(from, path, fs::copy_options::overwrite_existing, error);
    }
    if (!error)
        fs::rename(path, to, error);
    return error ? Result<bool>(base::fail_errno(to, error.value())) : Result<bool>(true);
}

Result<void> download(Gathering& gathering, const Apt& apt, const std::vector<Wanted>& absent) {
    std::vector<ArchivePackage> packages;
    std::map<std::string, std::uint64_t> sizes;
    std::vector<const Wanted*> due;
    Uses uses;
    for (const Wanted& one : absent)
        ++uses[apt.incoming(one.package)];
    for (const Wanted& one : absent) {
        GPUHOST_TRY(placed, place(gathering, apt, one, uses)); // an interrupted run may have left it
        if (placed) {
            gathering.result.items.push_back(one.item);
            continue;
        }
        due.push_back(&one);
        packages.push_back(one.package);
        sizes[one.package.name] = one.item.size;
    }
    if (due.empty())
        return {};
    std::size_t number = 0;
    GPUHOST_TRY(output, apt.download(packages, [&](const std::string& name) {
        gathering.programs.report("[" + std::to_string(++number) + "/" + std::to_string(due.size()) +
                                  "] fetching " + printable(name) + ", " + human_bytes(sizes[name]));
    }));
    if (!output.empty())
        gathering.programs.show(output);
    for (const Wanted* const one : due) {
        GPUHOST_TRY(placed, place(gathering, apt, *one, uses));
        if (placed)
            gathering.result.items.push_back(one->item);
        else
            gathering.miss("package " + one->package.word(),
                           output.empty() ? "not downloaded" : reason_in(output),
                           "Run the command again, or use another mirror: --mirror URL.");
    }
    return {};
}

} // namespace

Result<void> gather_packages(Gathering& gathering, const Apt& apt, const std::set<std::string>& have) {
    std::vector<Wanted> wanted;
    for (const std::string& version : gathering.request.drivers)
        if (have.count(version) == 0)
            GPUHOST_CHECK(add_driver(gathering, apt, version, wanted));
    GPUHOST_CHECK(add_packages(gathering, apt, wanted));
    std::vector<Wanted> absent;
    for (Wanted& one : wanted)
        if (one.item.present = digest_of(gathering.directory, one.item.file) == one.item.sha256;
            one.item.present || gathering.request.dry_run)
            gathering.result.items.push_back(one.item);
        else
            absent.push_back(one);
    for (const std::string& file : gathering.request.files) {
        CollectedItem item{"package", fs::path(file).filename().string()};
        item.file = "packages/" + item.name;
        GPUHOST_CHECK(copy_file(gathering, file, std::move(item)));
    }
    if (absent.empty())
        return {};
    GPUHOST_CHECK(check_space(gathering, absent));
    return download(gathering, apt, absent);
}

} // namespace gpuhost::ctl
