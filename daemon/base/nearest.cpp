// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/nearest.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gpuhost::base {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// Returns the edit distance. Two swapped letters count as one edit (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = std::exchange(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& candidates) {
    const std::string word = lower(given);
    std::string best;
    // A candidate with a larger distance is not a likely correction.
    std::size_t best_score = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& original : candidates) {
        const std::string candidate = lower(original);
        // A word that is the start of a candidate is the most common mistake, whatever the number of missing
        // letters.
        const bool shortened = word.size() >= 2 && starts_with(candidate, word);
        const std::size_t score = shortened ? 1 : distance(word, candidate);
        if (score < best_score) {
            best = original;
            best_score = score;
        }
    }
    return best;
}

} // namespace gpuhost::base
