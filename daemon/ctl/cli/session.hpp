// SPDX-License-Identifier: Apache-2.0
// What a running verb has: its arguments, the two streams, the daemon.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/arguments.hpp"
#include "daemon/ctl/cli/mounted_daemon.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <optional>
#include <string_view>

namespace gpuhost::ctl {

class Session {
  public:
    Session(Arguments arguments, Screen out, Screen err)
        : arguments_(std::move(arguments)), out_(out), err_(err) {}

    [[nodiscard]] const Arguments& arguments() const { return arguments_; }
    [[nodiscard]] const Screen& out() const { return out_; }
    [[nodiscard]] const Screen& err() const { return err_; }
    [[nodiscard]] bool wants_json() const { return arguments_.has(option::json); }

    /// Connects at the first call.
    [[nodiscard]] base::Result<Client*> client();
    /// For a verb that takes option::mounted, before the first client(): where it was given, that is a daemon for the system
    /// there. Only to `look`: for what asks only.
    [[nodiscard]] base::Result<void> use_mounted(bool look);
    [[nodiscard]] bool uses_mounted() const { return mounted_.has_value(); }

    /// stdout is for what was asked for and only that; all else goes to stderr through note() and complain().
    void print(std::string_view text) const;
    void print_json(const base::Json& value) const; ///< pretty unless --json=short
    void note(std::string_view text) const;
    void complain(const base::Error& error) const; ///< "gpuhostctl: …", the hint on a line of its own

  private:
    Arguments arguments_;
    Screen out_;
    Screen err_;
    std::optional<MountedDaemon> mounted_; ///< ends after its client
    std::optional<Client> client_;
};

/// The two lines of an error, as complain() prints them.
[[nodiscard]] std::string render_error(const Screen& screen, const base::Error& error);

/// The operation whose number is the verb's argument; without one the newest.
[[nodiscard]] base::Result<std::uint64_t> chosen_operation(Session& session);

} // namespace gpuhost::ctl
