// SPDX-License-Identifier: Apache-2.0

// hold is the only program of the rig's images: it prints /version of its image and waits for SIGTERM.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	version, err := os.ReadFile("/version")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Handle signals before the output, because a reader of the line may send one immediately.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	fmt.Print(string(version))
	<-ended
}
