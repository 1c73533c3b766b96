// SPDX-License-Identifier: Apache-2.0

// The baseline of tests/bench/rollout: NVIDIA's upgrade library, driven as the GPU Operator drives it (its
// controllers/upgrade_controller.go and cmd/gpu-operator/main.go). It omits parts that cost calls, which
// favours the library: the ClusterPolicy and its watch, the leader election, the deletion of pods and the
// drain.
//
//	controller --kubeconfig=FILE [--namespace=NAME] [--requeue=2m] [--parallel=N] [--unavailable=N|N%]
//
// Prints a line of JSON for each reconcile: its duration and the pause before it, in seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	libapi "github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
	"github.com/NVIDIA/k8s-operator-libs/pkg/upgrade"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	driverPods = map[string]string{"app": "nvidia-driver-daemonset"}
	validators = "app=nvidia-operator-validator"
)

type upgrader struct {
	library   upgrade.ClusterUpgradeStateManager
	namespace string
	requeue   time.Duration
	policy    libapi.DriverUpgradePolicySpec
	ended     time.Time
}

func (u *upgrader) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	began := time.Now()
	defer func() {
		line := map[string]float64{"pause": 0, "took": time.Since(began).Seconds()}
		if !u.ended.IsZero() {
			line["pause"] = began.Sub(u.ended).Seconds()
		}
		u.ended = time.Now()
		_ = json.NewEncoder(os.Stdout).Encode(line)
	}()
	state, err := u.library.BuildState(ctx, u.namespace, driverPods)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := u.library.ApplyState(ctx, state, &u.policy); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: u.requeue}, nil
}

// onlyErrors logs only errors: the library logs each pod in each reconcile.
type onlyErrors struct{}

func (onlyErrors) Init(logr.RuntimeInfo)            {}
func (onlyErrors) Enabled(int) bool                 { return false }
func (onlyErrors) Info(int, string, ...any)         {}
func (s onlyErrors) WithValues(...any) logr.LogSink { return s }
func (s onlyErrors) WithName(string) logr.LogSink   { return s }
func (onlyErrors) Error(err error, what string, _ ...any) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
}

func run() error {
	u := &upgrader{}
	flag.StringVar(&u.namespace, "namespace", "gpu-operator", "namespace of the driver's DaemonSet")
	flag.DurationVar(&u.requeue, "requeue", 2*time.Minute, "the GPU Operator's plannedRequeueInterval")
	parallel := flag.Int("parallel", 1, "maxParallelUpgrades")
	unavailable := flag.String("unavailable", "25%", "maxUnavailable")
	flag.Parse() // --kubeconfig is controller-runtime's own
	most := intstr.Parse(*unavailable)
	u.policy = libapi.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: *parallel, MaxUnavailable: &most}

	log := logr.New(onlyErrors{})
	ctrl.SetLogger(log)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{u.namespace: {}}},
	})
	if err != nil {
		return err
	}
	upgrade.SetDriverName("gpu")
	u.library, err = upgrade.NewClusterUpgradeStateManager(log, manager.GetConfig(),
		manager.GetEventRecorderFor("nvidia-gpu-operator"), upgrade.StateOptions{}) //nolint:staticcheck // the library's own
	if err != nil {
		return err
	}
	u.library = u.library.WithValidationEnabled(validators)
	if err := watch(manager, u); err != nil {
		return err
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		return err
	}
	return errors.New("ended")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
