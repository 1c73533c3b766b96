// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/deb.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t control_limit = std::size_t{256} << 10U;
constexpr std::uint64_t installed_limit_kib = std::uint64_t{1} << 40U; // prevents overflow in sums

tl::unexpected<base::Error> not_a_package(const std::string& what, const std::string& reason) {
    return base::fail(Errc::BadContent, what + ": not a Debian package: " + reason,
                      "Pass unmodified .deb files from the archive.");
}

/// Advances to the next ar member, which must be `name` ("control.tar") with or without a compression suffix.
/// Skips members whose names begin with '_', as deb(5) says.
Result<void> go_to(ArchiveReader& outer, std::string_view name, const std::string& what) {
    for (;;) {
        GPUHOST_TRY(entry, outer.next());
        if (!entry)
            return not_a_package(what, "it has no " + std::string(name));
        if (base::starts_with(entry->path, "_"))
            continue;
        if (entry->path == name || base::starts_with(entry->path, std::string(name) + "."))
            return {};
        return not_a_package(what, "found '" + entry->path + "' instead of " + std::string(name));
    }
}

Result<DebControl> read_control(ArchiveReader& outer, const std::string& what) {
    const ArchiveLimits limits{1000, std::uint64_t{64} << 20U, std::uint64_t{256} << 20U, 512};
    GPUHOST_TRY(inner, ArchiveReader::open(outer, ArchiveFormat::Tar, what + ": control.tar", limits));
    for (;;) {
        GPUHOST_TRY(entry, inner.next());
        if (!entry)
            return not_a_package(what, "control.tar has no control file");
        if (entry->path != "control" || entry->type != ArchiveEntry::Type::File)
            continue;
        GPUHOST_TRY(text, inner.read_all(control_limit));
        return parse_deb_control(text, what);
    }
}

bool is_package_name(std::string_view text) {
    return text.size() >= 2 && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
           });
}

/// Returns upstream's version: 535.261.03 for "2:535.261.03-1".
std::string upstream_version(std::string_view version) {
    if (const auto colon = version.find(':'); colon != std::string_view::npos)
        version.remove_prefix(colon + 1);
    return std::string(version.substr(0, version.rfind('-')));
}

} // namespace

Result<Deb> Deb::read(ArchiveReader outer, const std::string& what) {
    GPUHOST_CHECK(go_to(outer, "debian-binary", what));
    GPUHOST_TRY(format, outer.read_all(64));
    if (!base::starts_with(format, "2."))
        return not_a_package(what, "its format version is not 2");
    GPUHOST_CHECK(go_to(outer, "control.tar", what));
    GPUHOST_TRY(control, read_control(outer, what));
    GPUHOST_CHECK(go_to(outer, "data.tar", what));
    GPUHOST_TRY(data, ArchiveReader::open(outer, ArchiveFormat::Tar, what));
    return Deb(std::move(outer), std::move(control), std::move(data));
}

Result<Deb> Deb::open(int fd, const std::string& what) {
    GPUHOST_TRY(outer, ArchiveReader::open(fd, ArchiveFormat::Ar, what));
    return read(std::move(outer), what);
}

Result<Deb> Deb::open(std::string_view memory, const std::string& what) {
    GPUHOST_TRY(outer, ArchiveReader::open(memory, ArchiveFormat::Ar, what));
    return read(std::move(outer), what);
}

Result<DebControl> parse_deb_control(std::string_view text, std::string_view what) {
    DebControl control;
    for (const std::string& line : base::split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos || line.front() == ' ' || line.front() == '\t')
            continue;
        const std::string_view key = std::string_view(line).substr(0, colon);
        const std::string value(base::trim(std::string_view(line).substr(colon + 1)));
        if (key == "Package")
            control.package = value;
        else if (key == "Version")
            control.version = value;
        else if (key == "Architecture")
            control.architecture = value;
        else if (key == "Installed-Size")
            control.installed_bytes = std::min(base::parse_uint(value).value_or(0), installed_limit_kib)
                                      << 10U;
    }
    control.upstream = upstream_version(control.version);
    if (!is_package_name(control.package) || control.version.empty() || control.version.size() > 128)
        return not_a_package(std::string(what), "its control file names no package or version");
    return control;
}

std::string_view deb_architecture() noexcept {
#if defined(__aarch64__)
    return "arm64";
#else
    return "amd64";
#endif
}

} // namespace gpuhost::content
