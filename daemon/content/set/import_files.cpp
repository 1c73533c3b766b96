// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/import_files.hpp"

#include "daemon/content/crypto/sha256.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Json;
using base::Result;
using core::StepContext;

namespace {

/// Bytes on the disk that an import leaves free for other programs.
constexpr std::uint64_t reserve = std::uint64_t{64} << 20U;

} // namespace

Result<std::vector<ImportFile>> passed_files(const StepContext& context, const Json& args) {
    const auto names = base::strings_or_empty(args, "names");
    if (names.empty() || names.size() != context.inputs.size())
        return base::fail(Errc::Interrupted, "gpuhostd restarted, which closed the files to import",
                          "Start the import again.");
    std::vector<ImportFile> files;
    for (std::size_t i = 0; i < names.size(); ++i)
        files.push_back({context.inputs[i].get(), names[i]});
    return files;
}

Result<std::uint64_t> total_size(const std::vector<ImportFile>& files) {
    std::uint64_t bytes = 0;
    for (const ImportFile& file : files) {
        struct stat st {};
        if (::fstat(file.fd, &st) < 0)
            return base::fail_errno(file.name, errno);
        if (!S_ISREG(st.st_mode))
            return base::fail(Errc::InvalidArgument, file.name + ": not a regular file");
        bytes += static_cast<std::uint64_t>(st.st_size);
    }
    return bytes;
}

Result<std::uint64_t> usable_space(const base::Root& root, std::string_view directory) {
    GPUHOST_TRY(free, root.free_bytes(root.existing_part(directory)));
    return free - std::min(free, reserve);
}

Result<std::vector<core::Problem>> check_passed_files(const StepContext& context, const Json& args,
                                                      std::string_view directory, std::string_view hint) {
    GPUHOST_TRY(files, passed_files(context, args));
    GPUHOST_TRY(bytes, total_size(files));
    GPUHOST_TRY(space, usable_space(context.root, directory));
    std::vector<core::Problem> problems;
    if (bytes > space)
        problems.push_back({Errc::NoSpace,
                            "the files have " + std::to_string(bytes >> 20U) + " MiB, but only " +
                                std::to_string(space >> 20U) + " MiB are free in " + std::string(directory),
                            std::string(hint)});
    return problems;
}

Result<ArtifactFiles> open_artifact(const base::Root& root, const core::Artifact& artifact) {
    ArtifactFiles opened;
    for (const core::ArtifactFile& file : artifact.files) {
        GPUHOST_TRY(fd, root.open_file(file.path, O_RDONLY | O_NOFOLLOW));
        GPUHOST_TRY(digest, sha256_of_file(fd.get(), file.name));
        if (digest.sha256 != file.sha256)
            return base::fail(Errc::BadContent,
                              file.name + ": its blob sha256:" + file.sha256 + " is damaged",
                              "Remove the bundle and import it again.");
        opened.files.push_back({fd.get(), file.name});
        opened.descriptors.push_back(std::move(fd));
    }
    return opened;
}

} // namespace gpuhost::content
