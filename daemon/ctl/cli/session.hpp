// SPDX-License-Identifier: Apache-2.0
// The context of a running verb: its arguments, its output streams, and the connection to gpuhostd.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/arguments.hpp"
#include "daemon/ctl/cli/mounted_daemon.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

class Session {
  public:
    /// Applies the options --no-legend and --quiet to the screens.
    Session(Arguments arguments, Screen out, Screen err);

    [[nodiscard]] const Arguments& arguments() const { return arguments_; }
    [[nodiscard]] const Screen& out() const { return out_; }
    [[nodiscard]] const Screen& err() const { return err_; }
    [[nodiscard]] bool wants_json() const { return arguments_.has(option::json); }

    /// Returns the client of gpuhostd. The first call connects it.
    [[nodiscard]] base::Result<client::Client*> client();
    /// Call this before client() in verbs with option::mounted. If that option is given, starts a gpuhostd
    /// for the mounted system. `look`: the verb only queries gpuhostd, which then changes nothing.
    [[nodiscard]] base::Result<void> use_mounted(bool look);
    [[nodiscard]] bool uses_mounted() const { return mounted_.has_value(); }

    /// The command that continues the work of this verb after an interrupt; empty if there is none.
    void set_continuation(std::string command) { continuation_ = std::move(command); }
    [[nodiscard]] const std::string& continuation() const { return continuation_; }

    /// The requested output, to stdout.
    void print(std::string_view text) const;
    /// Prints a complete answer. If it is longer than the terminal, shows it with a pager.
    void page(std::string_view text) const;
    /// Calls page() with the rows of a list, or note() with the sentence `none` if there are none.
    void page_list(std::string_view rows, std::string_view none) const;
    /// Prints pretty JSON on a terminal, else one line. --json=pretty and --json=short determine the form.
    void print_json(const base::Json& value) const;

    /// Everything else, to stderr. These functions wrap lines that are wider than the terminal.
    void note(std::string_view text) const;        ///< information; nothing with --quiet
    void warn(std::string_view text) const;        ///< warnings and problems
    void complain(const base::Error& error) const; ///< "gpuhostctl: …", with the hint on its own line

  private:
    Arguments arguments_;
    Screen out_;
    Screen err_;
    std::optional<MountedDaemon> mounted_; ///< destroyed after its client
    std::optional<client::Client> client_;
    std::string continuation_;
};

/// Returns the two lines that complain() prints.
[[nodiscard]] std::string render_error(const Screen& screen, const base::Error& error);

/// Returns the id in the verb's argument; without an argument, the id of the newest operation.
[[nodiscard]] base::Result<std::uint64_t> chosen_operation(Session& session);

} // namespace gpuhost::ctl
