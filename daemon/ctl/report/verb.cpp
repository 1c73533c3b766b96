// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/content/archive/tar_writer.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/report/report.hpp"

#include <array>

#include <sys/stat.h>

namespace gpuhost::ctl {
namespace {

using base::Errc;
using base::Result;

constexpr Option list_option{"list", "", "print what would be in it, and write nothing"};
constexpr Option force_option{"force", "", "overwrite an existing file"};
constexpr std::array options{list_option, force_option, root_option};

std::string render_sources(const Screen& screen) {
    Table table({{"FILE"}, {"CONTENT"}});
    for (const ReportSource& source : report_sources())
        table.add({std::string(source.name), std::string(source.about)});
    return table.render(screen);
}

/// Returns "gpuhost-report-gpu01-1700000000".
std::string name_of_report(const base::Root& root, std::uint64_t time) {
    std::string host = root.read_line("/etc/hostname").value_or("host");
    for (char& c : host)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-')
            c = '_';
    return "gpuhost-report-" + host + "-" + std::to_string(time);
}

/// Returns the client of gpuhostd, without starting gpuhostd. Fails with NotFound if it does not run.
Result<client::Client*> running_daemon(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(runs, client->running());
    return runs ? Result<client::Client*>(client) : base::fail(Errc::NotFound, "gpuhostd is not running");
}

base::Error is_there(const std::string& path) {
    return {Errc::AlreadyExists, "'" + path + "' already exists", "Name another file, or use --force."};
}

/// Writes the archive and returns its size in bytes.
Result<std::uint64_t> write(OutputFile& file, const std::string& path, const std::string& directory,
                            std::uint64_t time, const std::vector<ReportFile>& members) {
    GPUHOST_TRY(tar,
                content::TarWriter::create(file.fd(), path, {content::TarForm::Packing::Gzip, time, 0600}));
    for (const ReportFile& member : members) {
        GPUHOST_CHECK(tar.begin(directory + "/" + member.name, false, member.text.size()));
        GPUHOST_CHECK(tar.write(member.text));
    }
    GPUHOST_TRY(digest, tar.finish());
    if (auto finished = file.finish(); !finished)
        return base::fail(finished.error().code == Errc::AlreadyExists ? is_there(path) : finished.error());
    return digest.size;
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    if (given.has(list_option)) {
        session.page(render_sources(session.out()));
        return 0;
    }
    GPUHOST_TRY(root, given_root(given));
    const std::uint64_t time = base::realtime_us() / 1'000'000;
    const std::string name = name_of_report(root, time);
    const std::string path = given.words().empty() ? name + ".tar.gz" : given.words().front();
    const bool may_replace = given.has(force_option);
    struct stat st {};
    if (!may_replace && ::lstat(path.c_str(), &st) == 0) // fails early; finish() checks again
        return base::fail(is_there(path));
    GPUHOST_TRY(file, OutputFile::create(path, 0600, may_replace ? Existing::Replace : Existing::Keep));
    session.note("Writes to " + printable(path) + ":\n" + render_sources(session.err()));
    ReportInput input{root, nullptr, "this is a mounted system", read_driver_files(root)};
    if (root.is_host()) {
        const auto client = running_daemon(session);
        input.client = client ? *client : nullptr;
        input.silence = client ? "" : client.error().message;
    }
    GPUHOST_TRY(size, write(file, path, name, time, make_report(input)));
    session.note("Wrote " + human_bytes(size) +
                 ". It has no keys, tokens and passwords, see gpuhostctl(1), but names of hosts, users and "
                 "images: check the report before you send it.\n");
    return 0;
}

constexpr std::array examples{Example{"report", "write an archive for a support request"},
                              Example{"report --list", "show first what would be in it"}};

} // namespace

const Verb report_verb{
    "report",
    "[FILE]",
    "collect the data for a support request in one file",
    "Collects the data for a support request in one tar.gz file: gpuhostd's documents, the result of doctor, "
    "settings, container runtimes, the driver's files, gpuhost's log. It first prints what it will write. "
    "Only root can read the file. Keys, tokens and passwords are left out. Works without the daemon, "
    "and with --root on a mounted system.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
