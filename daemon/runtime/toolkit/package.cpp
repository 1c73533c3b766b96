// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/package.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using content::ArchiveFormat;
using content::ArchiveReader;

namespace {

/// Limits for tars. A real toolkit is far smaller.
constexpr content::ArchiveLimits limits{20'000, std::uint64_t{512} << 20U, std::uint64_t{2} << 30U};

Result<void> check_machine(const std::string& name, const content::PackageInfo& info) {
    if (content::is_for_this_machine(info))
        return {};
    return base::fail(Errc::Unsupported,
                      name + ": is for " + info.architecture + ", this host is " +
                          std::string(content::machine_of(info.form)),
                      "Import the packages for this host's architecture.");
}

std::string upstream_of(const std::string& version) {
    return base::is_toolkit_version(version) ? version : std::string();
}

} // namespace

Result<ToolkitPackage> ToolkitPackage::open(int fd, const std::string& name) {
    GPUHOST_TRY(form, content::package_form(fd, name));
    if (form != content::PackageForm::Deb && form != content::PackageForm::Rpm) {
        GPUHOST_TRY(tar, ArchiveReader::open(fd, ArchiveFormat::Tar, name, limits));
        std::string version = version_in_name(name);
        return ToolkitPackage({name, version, version}, std::move(tar));
    }
    GPUHOST_TRY(package, content::Package::open(fd, name));
    const content::PackageInfo& info = package.info();
    GPUHOST_CHECK(check_machine(name, info));
    PackageName own{info.package, info.version, toolkit_version(info.upstream, info.release)};
    return ToolkitPackage(std::move(own), std::move(package));
}

ArchiveReader& ToolkitPackage::data() {
    if (auto* const package = std::get_if<content::Package>(&reader_))
        return package->data();
    return std::get<ArchiveReader>(reader_);
}

namespace {

/// Returns "~rc.2" for "-rc.2.tar.gz"; empty if `rest` does not begin with a release candidate.
std::string candidate_of(std::string_view rest) {
    if (!base::starts_with(rest, "-rc.") && !base::starts_with(rest, "~rc."))
        return {};
    constexpr std::size_t number = 4;
    const std::string_view digits =
        rest.substr(number, rest.find_first_not_of("0123456789", number) - number);
    return digits.empty() ? std::string() : "~rc." + std::string(digits);
}

} // namespace

std::string version_in_name(std::string_view file) {
    constexpr std::string_view digits = "0123456789";
    for (std::size_t at = 0; at < file.size(); ++at) {
        const bool begins = digits.find(file[at]) != std::string_view::npos &&
                            (at == 0 || file[at - 1] == '-' || file[at - 1] == '_' || file[at - 1] == 'v');
        if (!begins)
            continue;
        std::string_view word = file.substr(at, file.find_first_not_of("0123456789.", at) - at);
        while (base::ends_with(word, "."))
            word.remove_suffix(1); // the dot of ".tar"
        if (base::split(word, '.').size() >= 3 && base::is_toolkit_version(word))
            return std::string(word) + candidate_of(file.substr(at + word.size()));
    }
    return {};
}

std::string toolkit_version(std::string_view version, std::string_view release) {
    const std::string own(version);
    if (const auto candidate = release.find("rc."); candidate != std::string_view::npos) {
        const std::string_view rest = release.substr(candidate);
        const auto end = rest.find_first_not_of("0123456789", 3);
        return upstream_of(own + "~" + std::string(rest.substr(0, end)));
    }
    return upstream_of(own);
}

} // namespace gpuhost::runtime
