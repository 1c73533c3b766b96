// SPDX-License-Identifier: Apache-2.0

// cri asks a container runtime over CRI's image service, as a kubelet does.
//
//	cri SOCKET pull|status|remove IMAGE
//	cri SOCKET list
//
// It prints what the runtime answers as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const patience = 60 * time.Second

func ask(ctx context.Context, images runtime.ImageServiceClient, words []string) (any, error) {
	if len(words) == 1 && words[0] == "list" {
		return images.ListImages(ctx, &runtime.ListImagesRequest{})
	}
	if len(words) != 2 {
		return nil, errors.New("usage: cri SOCKET pull|status|remove IMAGE, or list")
	}
	image := &runtime.ImageSpec{Image: words[1]}
	switch words[0] {
	case "pull":
		return images.PullImage(ctx, &runtime.PullImageRequest{Image: image})
	case "status":
		return images.ImageStatus(ctx, &runtime.ImageStatusRequest{Image: image})
	case "remove":
		return images.RemoveImage(ctx, &runtime.RemoveImageRequest{Image: image})
	}
	return nil, fmt.Errorf("no verb '%s'", words[0])
}

func run(words []string) error {
	if len(words) < 2 {
		return errors.New("usage: cri SOCKET VERB [IMAGE]")
	}
	connection, err := grpc.NewClient("unix://"+words[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := ask(ctx, runtime.NewImageServiceClient(connection), words[1:])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		os.Exit(1)
	}
}
