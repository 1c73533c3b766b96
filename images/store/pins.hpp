// SPDX-License-Identifier: Apache-2.0
// Which images the runtimes are to have and keep: Pin= in [Images], which people write, or gpuhostctl does for them.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// "registry.example/team/app:v1", "busybox", or a shell's pattern over full names: "registry.example/team/*".
class Pin {
  public:
    /// InvalidArgument for what is neither. By digest is none: what is pinned is what a name leads to.
    [[nodiscard]] static base::Result<Pin> parse(std::string_view text);

    [[nodiscard]] const std::string& text() const { return text_; } ///< a name in its full form
    [[nodiscard]] bool fits(const std::string& full_name) const;

  private:
    Pin(std::string text, bool pattern) : text_(std::move(text)), pattern_(pattern) {}

    std::string text_;
    bool pattern_;
};

/// As many as there are words; what is no pin fits nothing.
[[nodiscard]] std::vector<Pin> pins_of(const std::vector<std::string>& words);

/// Makes these all that is pinned, in a drop-in. Refused, with nothing changed, where a file that comes later says otherwise.
[[nodiscard]] base::Result<void> write_pins(const base::Root& root, const std::vector<std::string>& pins);
/// As configured now.
[[nodiscard]] std::vector<std::string> read_pins(const base::Root& root);

} // namespace gpuhost::images
