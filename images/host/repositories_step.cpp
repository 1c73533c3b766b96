// SPDX-License-Identifier: Apache-2.0
#include "images/host/repositories_step.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "images/host/repositories.hpp"

#include <thread>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using content::FileOperation;
using core::StepContext;

namespace {

// A path below `root`: a mounted system has its own apt-get.
constexpr std::string_view apt_get = "/usr/bin/apt-get";
constexpr std::chrono::seconds apt_deadline{60};
constexpr unsigned most_tries = 15;
/// Configuration that replaces the host's own: hooks that an administrator has set for updates must not run
/// here.
constexpr std::string_view apt_config = "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n";

/// Runs apt-get, and repeats it while another apt-get holds the lock of apt's package lists, usually for some
/// seconds. Gives up after most_tries.
Result<base::Finished> run_unlocked(const base::Command& command) {
    for (unsigned tries = 1;; ++tries) {
        GPUHOST_TRY(finished, base::run(command));
        if (finished.exit_status == 0 || finished.timed_out || tries == most_tries ||
            finished.output.find("Could not get lock") == std::string::npos)
            return std::move(finished);
        std::this_thread::sleep_for(std::chrono::seconds(2));
    }
}

/// Makes apt read the indexes of a new repository before the repository's file is written. For that, apt gets
/// a temporary copy of the file. The packages can then be installed as soon as the file exists. Does nothing
/// for dnf, which reads indexes automatically.
Result<void> read_index(const StepContext& context, const FileOperation& file) {
    const base::Root& root = context.root;
    if (file.type != FileOperation::Type::Write || !base::starts_with(file.path, apt_sources) ||
        !root.exists(apt_get))
        return {};
    GPUHOST_CHECK(root.make_directories(context.staging));
    const std::string source = context.staging + file.path.substr(file.path.rfind('/'));
    GPUHOST_CHECK(root.write_atomic(source, file.content));
    const std::string config = context.staging + "/apt.conf";
    GPUHOST_CHECK(root.write_atomic(config, apt_config));
    base::Command command;
    command.deadline = apt_deadline;
    command.environment = {"APT_CONFIG=" + root.host_path(config)};
    command.argv = {root.host_path(apt_get), "-qq"};
    for (const std::string& option : {
             "Dir=" + root.directory(),
             "Dir::Etc::sourcelist=" + root.host_path(source), // reads only this file
             std::string("Dir::Etc::sourceparts=-"),
             std::string("APT::Get::List-Cleanup=0"), // does not delete the lists of other sources
             // Fails if an index cannot be read, even if an older one exists.
             std::string("APT::Update::Error-Mode=any"),
             // Does not switch to apt's own user, for which the worker lacks the capability. Nothing is
             // downloaded.
             std::string("APT::Sandbox::User=root"),
             // Accepts a new generation with another key or none, since the bundle's signature was verified.
             std::string("Acquire::AllowDowngradeToInsecureRepositories=1"),
             std::string("Acquire::AllowReleaseInfoChange=1"),
         })
        command.argv.insert(command.argv.end(), {"-o", option});
    command.argv.emplace_back("update");
    GPUHOST_TRY(finished, run_unlocked(command));
    GPUHOST_CHECK(root.remove(source));
    GPUHOST_CHECK(root.remove(config));
    if (finished.timed_out || finished.exit_status != 0)
        return base::fail(Errc::Failed, finished.timed_out ? "apt-get update timed out"
                                                           : std::string(base::trim(finished.output)));
    return {};
}

Result<Json> apply(StepContext& context, const Json& args) {
    const Repositories repositories = observe_repositories(context.root, base::bool_or(args, "on", false),
                                                           base::string_or(args, "without", ""));
    for (const std::string& why : repositories.left)
        context.warn(why);
    Json changed = Json::array();
    for (const FileOperation& file : repositories.wrong) {
        FileOperation change = file;
        if (const auto read = read_index(context, file); !read) {
            // A file that apt refuses would make every 'apt update' on the host fail, so it is not written.
            // An existing file of the previous generation is removed, because its packages no longer exist.
            // Since the file is then missing, 'gpuhostctl apply' tries this again.
            context.warn("apt rejects " + file.path + ", which is left out: " + read.error().message);
            change.type = FileOperation::Type::Remove;
            if (!context.root.exists(file.path))
                continue;
        }
        if (const auto done = content::perform(context.root, change); done)
            changed.push_back(file.path);
        else
            context.warn("packages of a bundle are not found: " + done.error().message);
    }
    return Json{{"files", std::move(changed)}};
}

/// Writes the files for all bundles again, also for the bundle whose removal failed.
Result<void> undo(StepContext& context, const Json& args) {
    const Json all{{"on", base::bool_or(args, "on", false)}};
    GPUHOST_CHECK(apply(context, all));
    return {};
}

} // namespace

core::StepCode repositories_code() {
    return {.name = "packages.repositories", .apply = apply, .undo = undo};
}

core::Step repositories_step(bool on) {
    return {"packages.repositories", "configure the package manager for this host's packages", {{"on", on}}};
}

core::Step repositories_step_without(bool on, const std::string& bundle) {
    return {"packages.repositories",
            "remove the package repository of " + bundle,
            {{"on", on}, {"without", bundle}}};
}

} // namespace gpuhost::images
