// SPDX-License-Identifier: Apache-2.0
// Scrub: reads every blob in the store and compares it with its digest. An import checked each blob once, but
// the disk may have damaged it since.
//
// A damaged blob is removed from the store, so that it is no longer served. The next import of its bundle
// restores it. Blobs are removed only after all are read, so an interrupted scrub changes nothing. Blobs with
// read errors are read again at the end, since their disk may have been disconnected for a while. The result
// is stored in scrub.json for 'gpuhostctl status'. Before it is shown, it is compared with the current store
// and catalogue.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "images/store/catalogue.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view scrub_file = "/var/lib/gpuhost/store/scrub.json";

struct Damage {
    OwnedBlob blob;
    std::vector<std::string> bundles; ///< the bundles that own it, sorted
    /// "missing", "digest mismatch", or the error on reading it.
    std::string why;
    bool missing = false;
    bool readable = true; ///< false: read errors, or two reads with different bytes
    std::uint64_t inode = 0;
    /// st_ctim in ns. With `inode` it identifies the file, so that a new one is not removed.
    std::uint64_t changed_ns = 0;
    bool removed = false; ///< from the store
};

struct Scrub {
    std::uint64_t finished = 0; ///< seconds since 1970
    std::uint64_t blobs = 0;    ///< number of blobs checked
    std::uint64_t bytes = 0;    ///< bytes read
    std::vector<Damage> damages;
    /// The bundles that own damaged blobs: name → identity() of the manifest. last_scrub() ignores a bundle
    /// that has been replaced since.
    std::map<std::string, std::string> bundles;
    std::vector<std::string> problems; ///< messages about bundles whose list of blobs is unreadable
};

class Scrubber {
  public:
    /// Reads the lists of blobs of all bundles. A bundle whose list is unreadable becomes an entry of
    /// Scrub::problems. `root` must outlive the result.
    [[nodiscard]] static base::Result<Scrubber> open(const base::Root& root);

    [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
    /// Reads all blobs, then removes the damaged ones. Unreadable blobs stay if there are so many that their
    /// disk seems disconnected. Calls `on_bytes` after each read, with the bytes of that read. Blobs of
    /// bundles that were removed during the scrub are not reported.
    [[nodiscard]] Scrub run(const std::function<void(std::uint64_t)>& on_bytes = {}) const;

  private:
    struct Bundle {
        std::string name;
        std::vector<OwnedBlob> blobs; ///< sorted
    };
    /// Calls `take` once for each blob, in order of digest, with the names of the bundles that own it.
    void for_each(const std::function<void(const OwnedBlob&, std::vector<std::string>)>& take) const;

    explicit Scrubber(const base::Root& root) : root_(&root) {}

    const base::Root* root_;
    std::vector<Bundle> bundles_;
    std::uint64_t blobs_ = 0;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::string> problems_;
};

[[nodiscard]] base::Result<void> write_scrub(const base::Root& root, const Scrub& scrub);
/// Returns the result of the last scrub in the form of to_json(); null if there was none. Leaves out damaged
/// blobs that were restored since, or whose bundles were removed or replaced.
[[nodiscard]] base::Json last_scrub(const base::Root& root);

/// Returns {"finished", "blobs", "bytes", "damaged": [{"digest", "size", "bundles", "why", "removed"}…],
/// "more": n, "manifests": {bundle: digest}, "problems": [text]}. "damaged" has at most the first thousand,
/// "more" the number of the others.
[[nodiscard]] base::Json to_json(const Scrub& scrub);

} // namespace gpuhost::images
