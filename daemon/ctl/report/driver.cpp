// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/system_query.hpp"
#include "daemon/ctl/report/report.hpp"

#include <unistd.h>

namespace gpuhost::ctl {

namespace {

using base::Root;

constexpr std::size_t file_limit = 65536;
constexpr std::size_t most_files = 4096; // MIG has several files for each possible instance
constexpr std::size_t most_stuck = 3;    // files that may time out; each costs the full timeout
constexpr unsigned deepest = 16;

class DriverFilesReader {
  public:
    explicit DriverFilesReader(const Root& root) : root_(root) {}

    /// Adds the files of `directory` recursively. The kernel answers for directories and metadata at once.
    /// Only reading a file calls the driver, which may hang.
    void add(const std::string& directory, unsigned depth = 0) {
        for (const std::string& name : root_.list(directory).value_or(std::vector<std::string>())) {
            const std::string path = directory + "/" + name;
            const auto file = root_.open_file(path, O_PATH | O_NOFOLLOW);
            struct stat st {};
            if (!file || ::fstat(file->get(), &st) < 0)
                continue;
            if (S_ISDIR(st.st_mode) && depth < deepest)
                add(path, depth + 1);
            if (S_ISREG(st.st_mode) && (++files_ > most_files || stuck_ == most_stuck))
                ++left_out_;
            else if (S_ISREG(st.st_mode))
                found_.text += "==> " + path + " <==\n" + content(file->get(), path);
        }
    }

    DriverFiles done() && {
        if (left_out_ > 0)
            found_.text += "[" + std::to_string(left_out_) + " more files are left out]\n";
        if (found_.text.empty())
            found_.text = "no files found\n";
        return std::move(found_);
    }

  private:
    /// Returns the content of a file. If it can't be read, for example because its GPU is no longer on the
    /// bus, returns a note instead. The child process opens the file by our descriptor, so it can't read a
    /// file outside of the root.
    std::string content(int file, const std::string& path) {
        const std::string ours = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
        ProgramAnswer answer = query_program({"cat", ours}, file_limit);
        if (answer.timed_out && stuck_++ == 0)
            found_.stuck = path;
        std::string& text = answer.text;
        if (!text.empty() && text.back() != '\n')
            text += '\n';
        if (answer.is_cut)
            text += "[the rest is left out]\n";
        else if (!answer.problem.empty())
            text += "[can't be read: cat " + answer.problem + "]\n";
        return std::move(text);
    }

    const Root& root_;
    DriverFiles found_;
    std::size_t files_ = 0;
    std::size_t stuck_ = 0;
    std::size_t left_out_ = 0;
};

} // namespace

DriverFiles read_driver_files(const Root& root) {
    DriverFilesReader reader(root);
    reader.add("/proc/driver/nvidia");
    return std::move(reader).done();
}

std::optional<base::Error> hanging_driver(const ReportInput& input) {
    if (input.driver.stuck.empty())
        return std::nullopt;
    return base::Error{base::Errc::Timeout,
                       "left out, since the driver hangs: reading '" + input.driver.stuck + "' timed out",
                       ""};
}

std::string report_driver_files(const ReportInput& input) {
    return input.driver.text;
}

} // namespace gpuhost::ctl
