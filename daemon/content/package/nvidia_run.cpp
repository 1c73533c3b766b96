// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/nvidia_run.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::string_view manifest_file = ".manifest";

/// Parses a label such as "NVIDIA Accelerated Graphics Driver for Linux-x86_64 550.163.01", whose last two
/// words are used.
Result<RunInfo> info_of(const std::string& label, const std::string& what) {
    const std::vector<std::string> words = base::split_words(label);
    constexpr std::string_view system = "Linux-";
    if (words.size() < 2 || !base::is_driver_version(words.back()) ||
        !base::starts_with(words[words.size() - 2], system))
        return base::fail(Errc::BadContent, what + ": not an NVIDIA driver: its label is '" + label + "'",
                          "Pass NVIDIA-Linux-….run as NVIDIA publishes it.");
    const std::string& platform = words[words.size() - 2];
    return RunInfo{"NVIDIA-" + platform, words.back(), platform.substr(system.size())};
}

Result<ArchiveReader> archive_of(int fd, const MakeselfHeader& header, const std::string& what) {
    return ArchiveReader::open(FilePart{fd, header.offset, header.size}, ArchiveFormat::Tar, what);
}

Result<RunManifest> find_manifest(ArchiveReader reader, const std::string& what) {
    for (;;) {
        GPUHOST_TRY(entry, reader.next());
        if (!entry)
            return base::fail(Errc::BadContent, what + ": not an NVIDIA driver: it has no .manifest",
                              "Pass NVIDIA-Linux-….run as NVIDIA publishes it.");
        if (entry->path != manifest_file || entry->type != ArchiveEntry::Type::File)
            continue;
        GPUHOST_TRY(text, reader.read_all(run_manifest_limit));
        return parse_run_manifest(text, what);
    }
}

} // namespace

NvidiaRun::NvidiaRun(RunInfo info, RunManifest manifest, ArchiveReader data)
    : info_(std::move(info)), manifest_(std::move(manifest)), data_(std::move(data)) {
    for (const auto& [name, files] : manifest_.files)
        for (const RunFile& file : files)
            if (!file.target.empty())
                if (std::string path = installed_path(name, file, info_.version); !path.empty())
                    links_.emplace_back(std::move(path), file.target);
}

Result<RunInfo> NvidiaRun::look(int fd, const std::string& what) {
    GPUHOST_TRY(header, read_makeself_header(fd, what));
    return info_of(header.label, what);
}

Result<NvidiaRun> NvidiaRun::open(int fd, const std::string& what) {
    GPUHOST_TRY(header, read_makeself_header(fd, what));
    GPUHOST_TRY(info, info_of(header.label, what));
    GPUHOST_CHECK(check_makeself_sums(fd, header, what));
    GPUHOST_TRY(first, archive_of(fd, header, what));
    GPUHOST_TRY(manifest, find_manifest(std::move(first), what));
    if (manifest.version != info.version)
        return base::fail(Errc::BadContent,
                          what + ": version mismatch (.manifest: " + manifest.version +
                              ", header: " + info.version + ")",
                          "Fetch the file again: it is not consistent.");
    GPUHOST_TRY(data, archive_of(fd, header, what));
    return NvidiaRun(std::move(info), std::move(manifest), std::move(data));
}

Result<std::optional<ArchiveEntry>> NvidiaRun::next() {
    std::optional<ArchiveEntry> entry;
    if (!ended_) {
        GPUHOST_TRY(member, data_.next());
        entry = std::move(member);
        ended_ = !entry;
    }
    if (entry) {
        const auto found = manifest_.files.find(entry->path);
        std::string path;
        if (found != manifest_.files.end() && found->second.front().target.empty())
            path = installed_path(found->first, found->second.front(), info_.version);
        entry->path = path.empty() ? "run/" + entry->path : std::move(path);
        return entry;
    }
    if (links_.empty())
        return std::nullopt;
    ArchiveEntry link;
    link.type = ArchiveEntry::Type::SymbolicLink;
    link.path = std::move(links_.back().first);
    link.target = std::move(links_.back().second);
    link.mode = 0777;
    links_.pop_back();
    return link;
}

} // namespace gpuhost::content
