// SPDX-License-Identifier: Apache-2.0

// prometheus runs the parts of Prometheus that the tests need. Its own programs link the clients of many clouds,
// which are most of their build; ../stubs replaces the three that remain.
//
//	prometheus test FILE...            unit tests of rules, as promtool test rules
//	prometheus serve CONFIG ADDRESS DIRECTORY
//	                                   scrapes the static targets of CONFIG into DIRECTORY, answers /api/v1/query
//
// unittest.go is promtool's own: node/binaries.py adds it from the pinned module.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

const module = "github.com/prometheus/prometheus"

// unittest.go uses these.
const successExitCode, failureExitCode = 0, 1

func parseTime(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }

// version returns the release of the module: 3.16.0 of v0.316.0.
func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, one := range build.Deps {
		var minor, patch int
		if _, err := fmt.Sscanf(one.Version, "v0.%d.%d", &minor, &patch); one.Path == module && err == nil {
			return fmt.Sprintf("%d.%d.%d", minor/100, minor%100, patch)
		}
	}
	return "unknown"
}

func main() {
	switch words := os.Args[1:]; {
	case len(words) == 1 && words[0] == "--version":
		fmt.Println("prometheus", version())
	case len(words) > 1 && words[0] == "test":
		options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true}
		os.Exit(RulesUnitTest(options, parser.NewParser(parser.Options{}), nil, false, false, false, words[1:]...))
	case len(words) == 4 && words[0] == "serve":
		fmt.Fprintln(os.Stderr, serve(words[1], words[2], words[3]))
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "unknown words:", strings.Join(words, " "))
		os.Exit(2)
	}
}

func init() {
	model.NameValidationScheme = model.UTF8Validation // as promtool and prometheus
}
