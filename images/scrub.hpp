// SPDX-License-Identifier: Apache-2.0
// Reads every blob of this host again. A blob's name says that it was whole once; a disk may have lost it since.
//
// What is damaged loses its name, so that nobody is served it and the next import of its bundle brings it again. What
// was found is kept in scrub.json beside the blobs, for `status`, which asks the store whether it is still so.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/catalogue.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view scrub_file = "/var/lib/gpuhost/store/scrub.json";

/// A blob that bundles own, and which ones do.
struct Owned {
    OwnedBlob blob;
    std::vector<std::string> bundles; ///< in order

    friend auto operator<=>(const Owned&, const Owned&) = default;
};

struct Damage {
    Owned owned;
    std::string why;      ///< "missing", "its bytes are not those of its digest", or why it can't be read
    bool removed = false; ///< false where it was missing, or the caller may not
};

struct Scrub {
    std::uint64_t finished = 0; ///< seconds since 1970
    std::uint64_t blobs = 0;    ///< that were asked for
    std::uint64_t bytes = 0;    ///< that were read
    std::vector<Damage> damages;
    std::vector<std::string> problems; ///< bundles whose blobs are not known
};

class Scrubber {
  public:
    /// `root` must outlive it. Reads the catalogue; a bundle that is damaged there is one of the problems.
    [[nodiscard]] static base::Result<Scrubber> open(const base::Root& root);

    [[nodiscard]] std::uint64_t total_bytes() const;
    /// `on_bytes` is told of each part that was read.
    [[nodiscard]] Scrub run(const std::function<void(std::uint64_t)>& on_bytes = {}) const;

  private:
    explicit Scrubber(const base::Root& root) : root_(&root) {}

    const base::Root* root_;
    std::vector<Owned> blobs_;
    std::vector<std::string> problems_;
};

[[nodiscard]] base::Result<void> write_scrub(const base::Root& root, const Scrub& scrub);
/// What the last one found: {"finished": s, "blobs": n, "bytes": n, "damaged": [{"digest", "size", "bundles", "why"}…],
/// "more": n}, without what has come back since. Null if there was none.
[[nodiscard]] base::Json last_scrub(const base::Root& root);

[[nodiscard]] base::Json to_json(const Scrub& scrub);

} // namespace gpuhost::images
