// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit_package.hpp"

#include "daemon/base/parse.hpp"

#include <array>
#include <cerrno>

#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using content::ArchiveFormat;
using content::ArchiveReader;
using content::Deb;
using content::Rpm;

namespace {

enum class Form { Deb, Rpm, Tar };

Result<Form> form_of(int fd, const std::string& name) {
    std::array<char, 8> start{};
    const ssize_t n = ::pread(fd, start.data(), start.size(), 0);
    if (n < 0)
        return base::fail_errno(name, errno);
    const std::string_view text(start.data(), static_cast<std::size_t>(n));
    if (text == "!<arch>\n")
        return Form::Deb;
    return base::starts_with(text, "\xed\xab\xee\xdb") ? Form::Rpm : Form::Tar;
}

/// A toolkit is small: what unpacks to more is none.
constexpr content::ArchiveLimits limits{20'000, std::uint64_t{512} << 20U, std::uint64_t{2} << 30U};

Result<void> check_machine(const std::string& name, const std::string& architecture, std::string_view here) {
    if (architecture == here || architecture == "all" || architecture == "noarch")
        return {};
    return base::fail(Errc::Unsupported,
                      name + ": is for " + architecture + ", this host is " + std::string(here),
                      "Import the packages for this host's architecture.");
}

std::string upstream_of(const std::string& version) {
    return base::is_toolkit_version(version) ? version : std::string();
}

} // namespace

Result<ToolkitPackage> ToolkitPackage::open(int fd, const std::string& name) {
    GPUHOST_TRY(form, form_of(fd, name));
    if (form == Form::Deb) {
        GPUHOST_TRY(deb, Deb::open(fd, name));
        const content::DebControl& control = deb.control();
        GPUHOST_CHECK(check_machine(name, control.architecture, content::deb_architecture()));
        PackageName own{control.package, control.version, upstream_of(control.upstream)};
        return ToolkitPackage(std::move(own), std::move(deb));
    }
    if (form == Form::Rpm) {
        GPUHOST_TRY(rpm, Rpm::open(fd, name));
        const content::RpmHeader& header = rpm.header();
        GPUHOST_CHECK(check_machine(name, header.architecture, content::rpm_architecture()));
        PackageName own{header.package, header.version + "-" + header.release,
                        toolkit_version(header.version, header.release)};
        return ToolkitPackage(std::move(own), std::move(rpm));
    }
    GPUHOST_TRY(tar, ArchiveReader::open(fd, ArchiveFormat::Tar, name, limits));
    std::string version = version_in_name(name);
    return ToolkitPackage({name, version, version}, std::move(tar));
}

ArchiveReader& ToolkitPackage::data() {
    if (auto* const deb = std::get_if<Deb>(&reader_))
        return deb->data();
    if (auto* const rpm = std::get_if<Rpm>(&reader_))
        return rpm->data();
    return std::get<ArchiveReader>(reader_);
}

namespace {

/// "~rc.2" of "-rc.2.tar.gz"; empty: a release.
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
            word.remove_suffix(1); // of ".tar"
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
