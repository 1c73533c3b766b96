// SPDX-License-Identifier: Apache-2.0

// hold is all that the rig's images hold: it prints /version of its image, and stays until it is told to end.
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
	// Listen first: who reads the line may send the signal at once.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	fmt.Print(string(version))
	<-ended
}
