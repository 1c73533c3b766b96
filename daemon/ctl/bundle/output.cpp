// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/output.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/cli/input_files.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "images/bundle/layout.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t least_volume = mebibyte;
constexpr std::size_t most_volumes = input_file_limit; ///< limit of one import

std::uint64_t parts_of(std::uint64_t size, std::uint64_t part) {
    return (size + part - 1) / part;
}

} // namespace

Result<std::uint64_t> chosen_volume_size(const Session& session) {
    const auto text = session.arguments().value(volume_size_option);
    if (!text)
        return std::uint64_t{0};
    const auto size = base::parse_size(*text);
    if (!size)
        return base::fail(Errc::InvalidArgument, "--volume-size: '" + printable(*text) + "' is not a size",
                          "Write a number of bytes, with K, M, G or T for powers of 1024: 4000M.");
    if (*size < least_volume)
        return base::fail(Errc::InvalidArgument, "--volume-size: " + *text + " is too small",
                          "Use at least 1M.");
    return *size / images::data_alignment * images::data_alignment;
}

Result<void> BundleFiles::begin(std::uint64_t size) {
    const std::uint64_t volumes = volume_size_ == 0 ? 1 : parts_of(size, volume_size_);
    if (volumes <= most_volumes)
        return next_file();
    const std::uint64_t enough = parts_of(parts_of(size, most_volumes), mebibyte);
    return base::fail(Errc::InvalidArgument,
                      "the bundle has " + human_bytes(size) + ", which makes " + std::to_string(volumes) +
                          " volumes; an import accepts " + std::to_string(most_volumes),
                      "Use --volume-size " + std::to_string(enough) + "M.");
}

Result<void> BundleFiles::next_file() {
    names_.push_back(volume_size_ == 0 ? path_ : volume_name(path_, files_.size() + 1));
    GPUHOST_TRY(file, OutputFile::create(names_.back()));
    files_.push_back(std::move(file));
    written_ = 0;
    return {};
}

Result<void> BundleFiles::write(std::string_view bytes) {
    while (!bytes.empty()) {
        if (volume_size_ != 0 && written_ == volume_size_)
            GPUHOST_CHECK(next_file());
        const std::uint64_t room = volume_size_ == 0 ? bytes.size() : volume_size_ - written_;
        const std::string_view part =
            bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size())));
        GPUHOST_CHECK(base::write_all(files_.back().fd(), part, "'" + names_.back() + "'"));
        written_ += part.size();
        bytes.remove_prefix(part.size());
    }
    return {};
}

Result<void> BundleFiles::finish() {
    for (std::size_t i = 0; i < files_.size(); ++i)
        if (auto finished = files_[i].finish(); !finished) {
            for (std::size_t named = 0; named < i; ++named) // an incomplete set of volumes is useless
                (void)::unlink(names_[named].c_str());
            return finished;
        }
    for (std::size_t number = files_.size() + 1; volume_size_ != 0 && number <= most_volumes; ++number)
        (void)::unlink(volume_name(path_, number).c_str());
    return {};
}

std::string described(const BundleFiles& files) {
    const auto& names = files.names();
    return names.size() == 1 ? names.front() : names.front() + " to " + names.back();
}

} // namespace gpuhost::ctl
