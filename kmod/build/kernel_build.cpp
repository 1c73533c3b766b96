// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/kernel_build.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/build/log.hpp"
#include "kmod/build/log_file.hpp"
#include "kmod/store/module_set.hpp"

#include <fcntl.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;

namespace {

std::string log_path(const BuildRequest& request) {
    return std::string(build_logs_directory) + "/" + request.version + "-" + request.kernel + ".log";
}

class Build {
  public:
    Build(const BuildPlace& place, const BuildRequest& request, std::chrono::milliseconds deadline,
          const BuildProgress& progress)
        : place_(place), root_(place.root), staging_(place.staging), request_(request), deadline_(deadline),
          progress_(progress), scratch_("/build-" + request.kernel), source_(scratch_ + "/source") {}

    /// Builds the modules. Then removes the scratch directory, also after a failure, because the next build
    /// needs the disk space. Returns the path of the log.
    Result<std::string> run() {
        const auto built = build();
        const auto removed = staging_.remove_tree(scratch_);
        if (!built)
            return base::fail(built.error());
        GPUHOST_CHECK(removed);
        return log_path(request_);
    }

  private:
    Result<void> build() {
        GPUHOST_CHECK(staging_.remove_tree(scratch_));
        GPUHOST_CHECK(staging_.make_directories(scratch_ + "/out"));
        GPUHOST_CHECK(staging_.make_directories(scratch_ + "/tmp"));
        GPUHOST_TRY(tree, unpack());
        GPUHOST_CHECK(make(tree.sources));
        GPUHOST_TRY(modules, strip());
        return stage(modules);
    }

    Result<SourceTree> unpack() {
        progress_(0, "unpacking the source");
        GPUHOST_TRY(fd, root_.open_file(request_.package, O_RDONLY | O_NOFOLLOW));
        GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), request_.package));
        if (digest.sha256 != request_.sha256)
            return base::fail(Errc::BadContent, request_.package + ": digest mismatch",
                              "Import the package again.");
        return unpack_source(fd.get(), request_.package, request_.directory, staging_, source_);
    }

    Result<void> make(std::size_t sources) {
        GPUHOST_TRY(log, LogFile::create(root_, log_path(request_)));
        BuildLog lines(sources, staging_.host_path(source_));
        base::Command command = make_command();
        command.on_line = [&](std::string_view line) {
            log.line(line);
            lines.line(line);
            progress_(0.02 + 0.95 * lines.fraction(), lines.doing());
        };
        GPUHOST_TRY(finished, base::run(command));
        return finished.exit_status == 0 ? Result<void>() : failed(lines, finished);
    }

    base::Command make_command() const {
        const std::string directory = staging_.host_path(source_);
        const std::string modules = "/lib/modules/" + request_.kernel;
        base::Command command;
        // Passes KERNEL_UNAME, not SYSSRC: only then does NVIDIA's Makefile detect that Debian has a kernel's
        // headers in two directories. For a mounted system, SYSSRC and SYSOUT are added below.
        command.argv = {"make", "modules", "KERNEL_UNAME=" + request_.kernel,
                        // Makes the modules independent of the directory in which the source was unpacked.
                        "KCFLAGS=-ffile-prefix-map=" + directory + "/="};
        if (!root_.is_host()) {
            const bool split = root_.stat(modules + "/source").has_value();
            command.argv.push_back("SYSSRC=" + root_.host_path(modules + (split ? "/source" : "/build")));
            command.argv.push_back("SYSOUT=" + root_.host_path(modules + "/build"));
        }
        command.environment = {place_.jobs.variable(),      "TMPDIR=" + staging_.host_path(scratch_ + "/tmp"),
                               "HOME=/nonexistent",         "KBUILD_BUILD_USER=gpuhost",
                               "KBUILD_BUILD_HOST=gpuhost", "KBUILD_BUILD_TIMESTAMP=@0"};
        command.directory = directory;
        command.deadline = deadline_;
        command.output_limit = 4096; // bytes that are kept in memory; the log has the whole output
        return command;
    }

    Result<void> failed(const BuildLog& lines, const base::Finished& finished) const {
        const std::string what = "compiling " + request_.version + " for " + request_.kernel;
        const std::string log = " See the log: " + log_path(request_) + ".";
        if (finished.timed_out)
            return base::fail(Errc::Timeout, what + ": timed out",
                              "Check whether the host is overloaded." + log);
        const std::string& error = lines.first_error();
        if (error.find("No space left on device") != std::string::npos)
            return base::fail(Errc::NoSpace, what + ": " + error,
                              "Free some space in /var/lib/gpuhost." + log);
        return base::fail(
            Errc::Unsupported,
            what + ": " +
                (error.empty() ? "make failed with status " + std::to_string(finished.exit_status) : error),
            "Use another kernel or driver version: this version may not support this kernel." + log);
    }

    /// Writes copies of the modules without debug information, which is nine tenths of their size and is not
    /// needed. Returns their file names.
    Result<std::vector<std::string>> strip() {
        progress_(0.97, "stripping");
        std::vector<std::string> modules;
        GPUHOST_TRY(names, staging_.list(source_));
        for (const std::string& name : names) {
            if (!base::ends_with(name, ".ko"))
                continue;
            base::Command command;
            command.argv = {"strip", "-g", "-o", staging_.host_path(scratch_ + "/out/" + name),
                            staging_.host_path(source_ + "/" + name)};
            GPUHOST_TRY(finished, base::run(command));
            if (finished.exit_status != 0)
                return base::fail(Errc::Failed, "strip " + name + ": " + finished.output);
            modules.push_back(name);
        }
        return modules;
    }

    Result<void> stage(const std::vector<std::string>& modules) {
        std::vector<base::UniqueFd> open;
        std::vector<ModuleInput> inputs;
        for (const std::string& name : modules) {
            GPUHOST_TRY(fd, staging_.open_file(scratch_ + "/out/" + name, O_RDONLY | O_NOFOLLOW));
            inputs.push_back({fd.get(), name});
            open.push_back(std::move(fd));
        }
        const std::lock_guard lock(place_.staging_modules);
        GPUHOST_TRY(space, free_space(root_));
        GPUHOST_TRY(manifest, stage_modules(staging_, inputs, space));
        if (manifest.version != request_.version || manifest.kernel != request_.kernel)
            return base::fail(Errc::BadContent, "the build produced " + manifest.version + " for " +
                                                    manifest.kernel + " instead of " + request_.version +
                                                    " for " + request_.kernel);
        return {};
    }

    const BuildPlace& place_;
    const base::Root& root_;
    const base::Root& staging_;
    const BuildRequest& request_;
    std::chrono::milliseconds deadline_;
    const BuildProgress& progress_;
    std::string scratch_;
    std::string source_;
};

} // namespace

Result<std::vector<BuildRequest>> build_requests(const Json& args) {
    const Json& source = base::member(args, "source");
    GPUHOST_TRY(version, base::get_string(args, "version"));
    GPUHOST_TRY(path, base::get_string(source, "path"));
    GPUHOST_TRY(file, base::get_string(source, "file"));
    GPUHOST_TRY(sha256, base::get_string(source, "sha256"));
    GPUHOST_TRY(directory, base::get_string(source, "directory"));
    std::vector<BuildRequest> requests;
    for (const std::string& kernel : base::strings_or_empty(args, "kernels")) {
        if (!base::is_driver_version(version) || !base::is_kernel_release(kernel))
            return base::fail(Errc::InvalidArgument, "'" + version + "' for '" + kernel +
                                                         "': invalid driver version or kernel release");
        requests.push_back({version, kernel, path + "/" + file, sha256, directory});
    }
    if (requests.empty())
        return base::fail(Errc::InvalidArgument, "no kernel to build for");
    return requests;
}

Result<std::string> build_for_kernel(const BuildPlace& place, const BuildRequest& request,
                                     std::chrono::milliseconds deadline, const BuildProgress& progress) {
    return Build(place, request, deadline, progress).run();
}

} // namespace gpuhost::kmod
