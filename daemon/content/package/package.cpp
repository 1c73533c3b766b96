// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/package.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

PackageInfo info_of(const DebControl& control) {
    const auto revision = control.version.rfind('-');
    return {PackageForm::Deb,
            control.package,
            control.version,
            control.upstream,
            revision == std::string::npos ? std::string() : control.version.substr(revision + 1),
            control.architecture,
            control.installed_bytes};
}

PackageInfo info_of(const RpmHeader& header) {
    return {PackageForm::Rpm,      header.package, header.version + "-" + header.release,
            header.version,        header.release, header.architecture,
            header.installed_bytes};
}

PackageInfo info_of(const RunInfo& run) {
    return {PackageForm::Run, run.package, run.version, run.version, {}, run.architecture, 0};
}

/// Reads the first member, whose path names the package, as in "usr/src/nvidia-open-550.163.01/Kbuild".
Result<PackageInfo> info_of_tar(int fd, const std::string& what) {
    GPUHOST_TRY(tar, ArchiveReader::open(fd, ArchiveFormat::Tar, what));
    GPUHOST_TRY(entry, tar.next());
    const auto parts = base::split(entry ? entry->path : std::string(), '/');
    const auto dash = parts.size() > 3 ? parts[2].rfind('-') : std::string::npos;
    if (dash == std::string::npos || parts[0] != "usr" || parts[1] != "src" ||
        !base::is_driver_version(parts[2].substr(dash + 1)))
        return base::fail(Errc::BadContent,
                          what + ": is a tar archive without a source in usr/src/NAME-VERSION");
    const std::string version = parts[2].substr(dash + 1);
    return PackageInfo{PackageForm::Tar, parts[2].substr(0, dash), version, version, {}, "noarch", 0};
}

constexpr std::size_t first_bytes = 512; ///< a tar's magic is in its first header

bool is_tar(std::string_view start) {
    constexpr std::size_t magic = 257;
    return base::starts_with(start, "\x28\xb5\x2f\xfd") ||
           (start.size() > magic && base::starts_with(start.substr(magic), "ustar"));
}

tl::unexpected<base::Error> no_package(const std::string& what) {
    return base::fail(Errc::BadContent, what + ": is not a package",
                      "Pass an unmodified package: this file is damaged or something else.");
}

} // namespace

Result<std::optional<PackageForm>> package_form(int fd, std::string_view what) {
    GPUHOST_TRY(text, base::read_at(fd, 0, first_bytes, what));
    if (base::starts_with(text, "!<arch>\n"))
        return PackageForm::Deb;
    if (base::starts_with(text, "\xed\xab\xee\xdb"))
        return PackageForm::Rpm;
    if (base::starts_with(text, "#!/bin/sh\n") || base::starts_with(text, "#! /bin/sh\n"))
        return PackageForm::Run;
    return is_tar(text) ? std::optional(PackageForm::Tar) : std::nullopt;
}

Result<PackageInfo> Package::look(int fd, const std::string& what) {
    GPUHOST_TRY(form, package_form(fd, what));
    if (!form)
        return no_package(what);
    if (*form == PackageForm::Tar)
        return info_of_tar(fd, what);
    if (*form == PackageForm::Run) {
        GPUHOST_TRY(run, NvidiaRun::look(fd, what));
        return info_of(run);
    }
    GPUHOST_TRY(package, open(fd, what)); // reads the metadata of a .deb or .rpm, not its files
    return package.info();
}

Result<Package> Package::open(int fd, const std::string& what) {
    GPUHOST_TRY(form, package_form(fd, what));
    if (!form)
        return no_package(what);
    switch (*form) {
    case PackageForm::Deb: {
        GPUHOST_TRY(deb, Deb::open(fd, what));
        PackageInfo info = info_of(deb.control());
        return Package(std::move(info), std::move(deb));
    }
    case PackageForm::Rpm: {
        GPUHOST_TRY(rpm, Rpm::open(fd, what));
        PackageInfo info = info_of(rpm.header());
        return Package(std::move(info), std::move(rpm));
    }
    case PackageForm::Run: {
        GPUHOST_TRY(run, NvidiaRun::open(fd, what));
        PackageInfo info = info_of(run.info());
        return Package(std::move(info), std::move(run));
    }
    case PackageForm::Tar:
        break;
    }
    GPUHOST_TRY(info, info_of_tar(fd, what));
    GPUHOST_TRY(tar, ArchiveReader::open(fd, ArchiveFormat::Tar, what));
    return Package(std::move(info), std::move(tar));
}

Result<std::optional<ArchiveEntry>> Package::next() {
    return std::visit([](auto& reader) { return reader.next(); }, reader_);
}

ArchiveReader& Package::data() {
    return std::visit(
        [](auto& reader) -> ArchiveReader& {
            if constexpr (std::is_same_v<std::decay_t<decltype(reader)>, ArchiveReader>)
                return reader;
            else
                return reader.data();
        },
        reader_);
}

std::string_view machine_of(PackageForm form) noexcept {
    return form == PackageForm::Deb ? deb_architecture() : rpm_architecture();
}

bool is_for_this_machine(const PackageInfo& info) noexcept {
    return info.architecture == "all" || info.architecture == "noarch" ||
           info.architecture == machine_of(info.form);
}

} // namespace gpuhost::content
