// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/NVIDIA/k8s-operator-libs/pkg/upgrade"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// The GPU Operator's minDelayCR and maxDelayCR, the delays after a failed reconcile.
const (
	leastDelay = 100 * time.Millisecond
	mostDelay  = 3 * time.Second
)

// singleton maps every change to one request, as the GPU Operator does: the next reconcile handles changes
// during this one.
func singleton[T client.Object](context.Context, T) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "driver-upgrade"}}}
}

func labelsChanged(e event.TypedUpdateEvent[*corev1.Node]) bool {
	for _, key := range []string{upgrade.GetUpgradeStateLabelKey(), upgrade.GetUpgradeSkipNodeLabelKey()} {
		if e.ObjectOld.Labels[key] != e.ObjectNew.Labels[key] {
			return true
		}
	}
	return false
}

func watch(manager ctrl.Manager, u *upgrader) error {
	made, err := controller.New("upgrade-controller", manager, controller.Options{
		Reconciler: u, MaxConcurrentReconciles: 1,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastDelay, mostDelay)})
	if err != nil {
		return err
	}
	err = made.Watch(source.Kind(manager.GetCache(), &corev1.Node{},
		handler.TypedEnqueueRequestsFromMapFunc(singleton[*corev1.Node]),
		predicate.TypedFuncs[*corev1.Node]{UpdateFunc: labelsChanged}))
	if err != nil {
		return err
	}
	return made.Watch(source.Kind(manager.GetCache(), &appsv1.DaemonSet{},
		handler.TypedEnqueueRequestsFromMapFunc(singleton[*appsv1.DaemonSet]),
		predicate.TypedGenerationChangedPredicate[*appsv1.DaemonSet]{}))
}
