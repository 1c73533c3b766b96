// SPDX-License-Identifier: Apache-2.0

// Program peer is the other end of daemon/rpc in tests: grpc-go with the kubelet's stubs.
//
//	peer check REGISTRATION PLUGIN   calls a served plugin as the kubelet does; commands for it go to stdout
//	peer restart PLUGIN              watches until the server ends, and calls its successor; prints its state
//	peer podresources SOCKET         serves the podresources API
//	peer plugin SOCKET               serves a device plugin, for figures
//	peer latency SOCKET CALLS        prints the microseconds of each of so many calls of Allocate
//	peer golden                      prints the bytes of messages
package main

import (
	"fmt"
	"os"
	"strconv"
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, "peer:", err)
	os.Exit(1)
}

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "check":
		err = check(args[1], args[2])
	case len(args) == 2 && args[0] == "restart":
		err = restart(args[1])
	case len(args) == 2 && args[0] == "podresources":
		err = servePodResources(args[1])
	case len(args) == 2 && args[0] == "plugin":
		err = servePlugin(args[1])
	case len(args) == 3 && args[0] == "latency":
		var calls int
		if calls, err = strconv.Atoi(args[2]); err == nil {
			err = latency(args[1], calls)
		}
	case len(args) == 1 && args[0] == "golden":
		err = golden()
	default:
		err = fmt.Errorf("wrong arguments")
	}
	if err != nil {
		fail(err)
	}
}
