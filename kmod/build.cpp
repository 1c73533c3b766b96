// SPDX-License-Identifier: Apache-2.0
#include "kmod/build.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/content/sha256.hpp"
#include "kmod/build_log.hpp"
#include "kmod/headers.hpp"
#include "kmod/log_file.hpp"
#include "kmod/module_set.hpp"
#include "kmod/step_kind.hpp"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

constexpr auto build_deadline = std::chrono::hours(2);
constexpr long most_jobs = 64; // each is a handful of processes, and the worker may have 512

struct Request {
    std::string version;
    std::string kernel;
    std::string package; ///< path of the sealed source
    std::string sha256;
    std::string directory; ///< in that package
};

Result<Request> request_from(const Json& args) {
    const Json& source = base::member(args, "source");
    GPUHOST_TRY(version, base::get_string(args, "version"));
    GPUHOST_TRY(kernel, base::get_string(args, "kernel"));
    GPUHOST_TRY(path, base::get_string(source, "path"));
    GPUHOST_TRY(file, base::get_string(source, "file"));
    GPUHOST_TRY(sha256, base::get_string(source, "sha256"));
    GPUHOST_TRY(directory, base::get_string(source, "directory"));
    if (!base::is_driver_version(version) || !base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + version + "' for '" + kernel + "' can't be built");
    return Request{version, kernel, path + "/" + file, sha256, directory};
}

std::string log_path(const Request& request) {
    return std::string(build_logs_directory) + "/" + request.version + "-" + request.kernel + ".log";
}

// --- preflight

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    std::vector<Problem> problems = check_headers(context.root, request.kernel);
    GPUHOST_TRY(system, base::Root::open("/"));
    for (Problem& problem : check_tools(context.root, request.kernel, system))
        problems.push_back(std::move(problem));
    if (!context.root.stat(request.package))
        problems.push_back({Errc::NotFound, request.package + ": is missing", "Import the package again."});
    GPUHOST_TRY(free, free_space(context.root));
    if (free < build_space)
        problems.push_back({Errc::NoSpace,
                            "a build takes up to " + std::to_string(build_space >> 20U) + " MiB, but " +
                                std::to_string(free >> 20U) + " MiB are free in " +
                                std::string(store_directory),
                            "Make room, for instance with 'gpuhostctl driver remove'."});
    return problems;
}

// --- apply

/// One build in its scratch directory, which is deleted when it ends well.
class Build {
  public:
    Build(const StepContext& context, Request request, const base::Root& staging)
        : context_(context), request_(std::move(request)), staging_(staging),
          scratch_("/build-" + request_.kernel), source_(scratch_ + "/source") {}

    Result<Json> run() {
        GPUHOST_CHECK(staging_.remove_tree(scratch_));
        GPUHOST_CHECK(staging_.make_directories(scratch_ + "/out"));
        GPUHOST_CHECK(staging_.make_directories(scratch_ + "/tmp"));
        GPUHOST_TRY(tree, unpack());
        GPUHOST_CHECK(make(tree.sources));
        GPUHOST_TRY(modules, strip());
        GPUHOST_TRY(manifest, stage(modules));
        GPUHOST_CHECK(staging_.remove_tree(scratch_));
        return Json{{"version", manifest.version}, {"kernel", manifest.kernel}, {"log", log_path(request_)}};
    }

  private:
    Result<SourceTree> unpack() {
        context_.progress(0, "unpacking the source");
        GPUHOST_TRY(fd, context_.root.open_file(request_.package, O_RDONLY | O_NOFOLLOW));
        GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), request_.package));
        if (digest.sha256 != request_.sha256)
            return base::fail(Errc::BadContent, request_.package + ": digest mismatch",
                              "Import the package again.");
        return unpack_source(fd.get(), request_.package, request_.directory, staging_, source_);
    }

    Result<void> make(std::size_t sources) {
        GPUHOST_TRY(log, LogFile::create(context_.root, log_path(request_)));
        BuildLog lines(sources, staging_.host_path(source_));
        base::Command command = make_command();
        command.on_line = [&](std::string_view line) {
            log.line(line);
            lines.line(line);
            context_.progress(0.02 + 0.95 * lines.fraction(), lines.doing());
        };
        GPUHOST_TRY(finished, base::run(command));
        return finished.exit_status == 0 ? Result<void>() : failed(lines, finished);
    }

    base::Command make_command() const {
        const std::string directory = staging_.host_path(source_);
        const std::string modules = "/lib/modules/" + request_.kernel;
        const long jobs = std::clamp(::sysconf(_SC_NPROCESSORS_ONLN), 1L, most_jobs);
        base::Command command;
        // KERNEL_UNAME and not SYSSRC: only so does NVIDIA's Makefile see that Debian splits headers in two
        // trees.
        command.argv = {"make", "-j" + std::to_string(jobs), "modules", "KERNEL_UNAME=" + request_.kernel,
                        // The same source gives the same modules, wherever it was unpacked.
                        "KCFLAGS=-ffile-prefix-map=" + directory + "/="};
        if (!context_.root.is_host()) {
            const bool split = context_.root.stat(modules + "/source").has_value();
            command.argv.push_back("SYSSRC=" +
                                   context_.root.host_path(modules + (split ? "/source" : "/build")));
            command.argv.push_back("SYSOUT=" + context_.root.host_path(modules + "/build"));
        }
        command.environment = {"TMPDIR=" + staging_.host_path(scratch_ + "/tmp"), "HOME=/nonexistent",
                               "KBUILD_BUILD_USER=gpuhost", "KBUILD_BUILD_HOST=gpuhost",
                               "KBUILD_BUILD_TIMESTAMP=@0"};
        command.directory = directory;
        command.deadline = build_deadline - std::chrono::minutes(1);
        command.output_limit = 4096; // the log has it
        return command;
    }

    Result<void> failed(const BuildLog& lines, const base::Finished& finished) const {
        const std::string what = "compiling " + request_.version + " for " + request_.kernel;
        const std::string log = " The whole log: " + log_path(request_);
        if (finished.timed_out)
            return base::fail(Errc::Timeout, what + ": not done in time", "Is the host overloaded?" + log);
        const std::string& error = lines.first_error();
        if (error.find("No space left on device") != std::string::npos)
            return base::fail(Errc::NoSpace, what + ": " + error, "Make room in /var/lib/gpuhost." + log);
        return base::fail(
            Errc::Unsupported,
            what + ": " + (error.empty() ? "make ended with " + std::to_string(finished.exit_status) : error),
            "This version may not support this kernel; use another of either." + log);
    }

    /// Debug information is nine tenths of what was built, and no use to a GPU host.
    Result<std::vector<std::string>> strip() {
        context_.progress(0.97, "stripping");
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

    Result<Manifest> stage(const std::vector<std::string>& modules) {
        std::vector<base::UniqueFd> open;
        std::vector<ModuleInput> inputs;
        for (const std::string& name : modules) {
            GPUHOST_TRY(fd, staging_.open_file(scratch_ + "/out/" + name, O_RDONLY | O_NOFOLLOW));
            inputs.push_back({fd.get(), name});
            open.push_back(std::move(fd));
        }
        GPUHOST_TRY(space, free_space(context_.root));
        GPUHOST_TRY(manifest, stage_modules(staging_, inputs, space));
        if (manifest.version != request_.version || manifest.kernel != request_.kernel)
            return base::fail(Errc::BadContent, "the build made " + manifest.version + " for " +
                                                    manifest.kernel + " instead of " + request_.version +
                                                    " for " + request_.kernel);
        return std::move(manifest);
    }

    const StepContext& context_;
    Request request_;
    const base::Root& staging_;
    std::string scratch_;
    std::string source_;
};

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(request, request_from(args));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(context.staging)));
    return Build(context, std::move(request), staging).run();
}

} // namespace

core::StepKind build_compile_kind() {
    core::StepKind kind;
    kind.name = "build.compile";
    kind.sandbox = core::Sandbox::Compile;
    kind.writable = {std::string(build_logs_directory)}; // a log outlives the staging directory
    kind.deadline = build_deadline;
    kind.interruptible = true;
    kind.preflight = preflight;
    kind.apply = apply;
    // No verify: store.publish checks what was made.
    // No undo: the staging directory goes with its transaction.
    return kind;
}

} // namespace gpuhost::kmod
