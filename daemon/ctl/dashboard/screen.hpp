// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/ctl/dashboard/frame.hpp"

#include <memory>
#include <optional>

namespace gpuhost::ctl::dashboard {

/// The terminal at stdin and stdout, by ncurses. At most one object may exist. The destructor restores the
/// terminal. Block SIGWINCH before open(), and call resize() after this signal.
class Terminal {
  public:
    /// Fails with Unsupported if the type of the terminal in $TERM is unknown.
    [[nodiscard]] static base::Result<Terminal> open(bool colour);
    Terminal(Terminal&&) noexcept;
    Terminal& operator=(Terminal&&) = delete;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] Size size() const;
    void resize(); ///< reads the size of the terminal again
    void draw(const Frame& frame);
    void redraw(); ///< paints the whole screen, which other programs may have changed
    /// Returns the next key that was pressed; nothing if there is none yet.
    [[nodiscard]] std::optional<Key> read_key();

  private:
    struct Impl;
    explicit Terminal(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace gpuhost::ctl::dashboard
