// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/source_directory.hpp"

#include "daemon/base/page_buffer.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/package.hpp"
#include "daemon/content/tar_writer.hpp"
#include "daemon/content/tree.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t most_files = 20'000; // 550.163.01 has 1,100
constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30U;
constexpr unsigned deepest = 16;

struct Place {
    std::string_view file;
    std::string_view before; ///< the version, which ends at what no version has
};
constexpr std::array places{Place{"/dkms.conf", "PACKAGE_VERSION="}, Place{"/version.mk", "NVIDIA_VERSION ="},
                            Place{"/Kbuild", "NV_VERSION_STRING="}};

std::optional<std::string> version_after(std::string_view text, std::string_view before) {
    const auto at = text.find(before);
    if (at == std::string_view::npos)
        return std::nullopt;
    text = text.substr(at + before.size());
    text = text.substr(std::min(text.size(), text.find_first_not_of(" \t\"'\\")));
    std::string version(text.substr(0, text.find_first_not_of("0123456789.")));
    return base::is_driver_version(version) ? std::optional(std::move(version)) : std::nullopt;
}

Result<std::string> version_of(const Root& root) {
    for (const Place& place : places)
        if (const auto text = root.read(place.file))
            if (auto version = version_after(*text, place.before))
                return std::move(*version);
    return base::fail(Errc::BadContent, "'" + root.directory() + "' does not say which driver's source it is",
                      "Its dkms.conf has PACKAGE_VERSION=, its version.mk NVIDIA_VERSION, or its Kbuild "
                      "NV_VERSION_STRING.");
}

/// By what the modules will tell the kernel.
bool is_open(const Root& root) {
    for (const std::string& name : root.list("/nvidia").value_or(std::vector<std::string>{}))
        if (base::ends_with(name, ".c"))
            if (const auto text = root.read("/nvidia/" + name, std::size_t{8} << 20U))
                if (text->find("MODULE_LICENSE(\"Dual MIT/GPL\")") != std::string::npos)
                    return true;
    return false;
}

class Packer {
  public:
    Packer(const Root& root, content::TarWriter tar, std::string prefix)
        : root_(root), tar_(std::move(tar)), prefix_(std::move(prefix)) {}

    Result<void> run() {
        GPUHOST_CHECK(add_directory("", 0));
        GPUHOST_CHECK(tar_.finish());
        return {};
    }

  private:
    [[nodiscard]] std::string name_of(const std::string& path) const {
        return "'" + root_.directory() + path + "'";
    }

    Result<void> add_directory(const std::string& path, unsigned depth) {
        if (depth > deepest)
            return base::fail(Errc::BadContent, name_of(path) + " is too deep for a driver's source");
        GPUHOST_TRY(names, root_.list(path.empty() ? "/" : path));
        for (const std::string& name : names) {
            const std::string inside = path + "/" + name;
            GPUHOST_TRY(st, root_.lstat(inside));
            if (S_ISDIR(st.st_mode))
                GPUHOST_CHECK(add_directory(inside, depth + 1));
            else
                GPUHOST_CHECK(add(inside, st));
        }
        return {};
    }

    Result<void> add(const std::string& path, const struct stat& st) {
        if (++files_ > most_files)
            return base::fail(Errc::BadContent, "'" + root_.directory() + "' has more than " +
                                                    std::to_string(most_files) + " files");
        if (base::ends_with(path, ".ko") || base::ends_with(path, ".o"))
            return base::fail(Errc::BadContent, name_of(path) + " was built in the source",
                              "Say 'make clean' there first, or import a source that nobody has built in.");
        if (S_ISLNK(st.st_mode))
            return add_link(path);
        if (!S_ISREG(st.st_mode))
            return base::fail(Errc::BadContent, name_of(path) + " is no file, directory or link");
        return add_file(path);
    }

    Result<void> add_link(const std::string& path) {
        GPUHOST_TRY(target, root_.read_link(path));
        if (!content::link_stays_inside(path.substr(1), target))
            return base::fail(Errc::BadContent, name_of(path) + " is a link that leads out of the source");
        return tar_.add_link(prefix_ + path, target);
    }

    Result<void> add_file(const std::string& path) {
        GPUHOST_TRY(fd, root_.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
        struct stat st {};
        if (::fstat(fd.get(), &st) < 0)
            return base::fail_errno(name_of(path), errno);
        const auto size = static_cast<std::uint64_t>(st.st_size);
        bytes_ += size;
        if (bytes_ > most_bytes)
            return base::fail(Errc::BadContent, "'" + root_.directory() + "' has more than " +
                                                    std::to_string(most_bytes >> 20U) + " MiB");
        GPUHOST_CHECK(tar_.begin(prefix_ + path, (st.st_mode & 0111U) != 0, size));
        return copy(fd.get(), size, path);
    }

    Result<void> copy(int fd, std::uint64_t size, const std::string& path) {
        while (size != 0) {
            const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), size));
            const ssize_t n = ::read(fd, buffer_.data(), most);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return base::fail_errno(name_of(path), errno);
            if (n == 0)
                return base::fail(Errc::BadContent, name_of(path) + " became shorter while it was read");
            GPUHOST_CHECK(tar_.write({buffer_.data(), static_cast<std::size_t>(n)}));
            size -= static_cast<std::uint64_t>(n);
        }
        return {};
    }

    const Root& root_;
    content::TarWriter tar_;
    std::string prefix_;
    base::PageBuffer buffer_{std::size_t{256} << 10U};
    std::size_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

Result<base::UniqueFd> unnamed_file() {
    const char* const told = std::getenv("TMPDIR");
    const std::string directory = told != nullptr && *told == '/' ? told : "/var/tmp";
    base::UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!fd)
        return base::fail_errno("a temporary file in '" + directory + "'", errno);
    return fd;
}

} // namespace

bool is_source_directory(const std::string& directory) {
    const auto root = Root::open(directory);
    return root && (root->exists("/dkms.conf") || (root->exists("/Kbuild") && root->exists("/nvidia")));
}

Result<InputFile> pack_source_directory(const std::string& directory) {
    GPUHOST_TRY(root, Root::open(directory));
    GPUHOST_TRY(version, version_of(root));
    const std::string name = std::string(is_open(root) ? "nvidia-open-" : "nvidia-") + version;
    GPUHOST_TRY(fd, unnamed_file());
    GPUHOST_TRY(tar, content::TarWriter::create(fd.get(), name));
    GPUHOST_CHECK(Packer(root, std::move(tar), "usr/src/" + name).run());
    return InputFile{name + std::string(content::source_suffix), std::move(fd)};
}

} // namespace gpuhost::ctl
