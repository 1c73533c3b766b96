// SPDX-License-Identifier: Apache-2.0

// cri sends requests to a container runtime over CRI, as a kubelet does.
//
//	cri SOCKET pull|status|remove IMAGE
//	cri SOCKET list
//	cri SOCKET start CGROUP IMAGE DEVICE   a container of one pod, with a device of CDI
//	cri SOCKET stop POD
//
// It prints the runtime's answer as JSON. start prints {"pod", "container"}: "info" in the container's status
// has its PID.
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

// start runs a container in its own pod on the host's network, with a CDI device, as a kubelet requests it
// for a device plugin.
func start(ctx context.Context, pods runtime.RuntimeServiceClient, cgroup, image, device string) (any, error) {
	name := fmt.Sprintf("cdi-%d", os.Getpid())
	host := &runtime.NamespaceOption{Network: runtime.NamespaceMode_NODE}
	config := &runtime.PodSandboxConfig{
		Metadata: &runtime.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"},
		Linux: &runtime.LinuxPodSandboxConfig{
			CgroupParent:    cgroup,
			SecurityContext: &runtime.LinuxSandboxSecurityContext{NamespaceOptions: host},
		},
	}
	pod, err := pods.RunPodSandbox(ctx, &runtime.RunPodSandboxRequest{Config: config})
	if err != nil {
		return nil, err
	}
	made, err := pods.CreateContainer(ctx, &runtime.CreateContainerRequest{
		PodSandboxId:  pod.PodSandboxId,
		SandboxConfig: config,
		Config: &runtime.ContainerConfig{
			Metadata:   &runtime.ContainerMetadata{Name: name},
			Image:      &runtime.ImageSpec{Image: image},
			CDIDevices: []*runtime.CDIDevice{{Name: device}},
			Linux: &runtime.LinuxContainerConfig{
				SecurityContext: &runtime.LinuxContainerSecurityContext{NamespaceOptions: host},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	if _, err = pods.StartContainer(ctx, &runtime.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
		return nil, err
	}
	status, err := pods.ContainerStatus(ctx, &runtime.ContainerStatusRequest{ContainerId: made.ContainerId, Verbose: true})
	return map[string]any{"pod": pod.PodSandboxId, "container": status}, err
}

func stop(ctx context.Context, pods runtime.RuntimeServiceClient, pod string) (any, error) {
	if _, err := pods.StopPodSandbox(ctx, &runtime.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		return nil, err
	}
	return pods.RemovePodSandbox(ctx, &runtime.RemovePodSandboxRequest{PodSandboxId: pod})
}

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
	return nil, fmt.Errorf("unknown verb '%s'", words[0])
}

func answer(ctx context.Context, connection *grpc.ClientConn, words []string) (any, error) {
	pods := runtime.NewRuntimeServiceClient(connection)
	if len(words) == 4 && words[0] == "start" {
		return start(ctx, pods, words[1], words[2], words[3])
	}
	if len(words) == 2 && words[0] == "stop" {
		return stop(ctx, pods, words[1])
	}
	return ask(ctx, runtime.NewImageServiceClient(connection), words)
}

func run(words []string) error {
	if len(words) < 2 {
		return errors.New("usage: cri SOCKET VERB [WORD...]")
	}
	connection, err := grpc.NewClient("unix://"+words[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answered, err := answer(ctx, connection, words[1:])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answered)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		os.Exit(1)
	}
}
