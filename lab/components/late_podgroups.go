package components

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	bus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/apis/pkg/client/informers/externalversions"
	lister "volcano.sh/apis/pkg/client/listers/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/controllers/framework"
)

// latePodGroups has a Job looked at again when Volcano's controllers first hear of its PodGroup after
// the scheduler has admitted it. Volcano's job controller creates a Job's pods when its PodGroup changes
// from Pending to Inqueue, and listens to changes alone. When its watch breaks and a PodGroup is
// created and admitted before it lists again, it meets the PodGroup as a new one: the Job then stays
// Pending forever, without pods (https://github.com/volcano-sh/volcano/issues/5325, still so in v1.15.1).
//
// The Job is named to the job controller by a Command, as vcctl would. What the first list of a
// starting process holds needs none: every Job is looked at after it.
type latePodGroups struct {
	client    versioned.Interface
	factory   externalversions.SharedInformerFactory
	podGroups lister.PodGroupLister
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func (c *latePodGroups) Name() string { return "late-podgroup-controller" }

func (c *latePodGroups) Initialize(options *framework.ControllerOption) error {
	c.client, c.factory = options.VolcanoClient, options.VCSharedInformerFactory
	podGroups := c.factory.Scheduling().V1beta1().PodGroups()
	c.podGroups = podGroups.Lister()
	c.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, 5*time.Second))
	_, err := podGroups.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if group, ok := object.(*scheduling.PodGroup); ok && !isInInitialList && isLate(group) {
				c.queue.Add(cache.MetaObjectToName(group))
			}
		},
	})
	return err
}

func (c *latePodGroups) Run(stop <-chan struct{}) {
	defer c.queue.ShutDown()
	c.factory.Start(stop)
	go wait.Until(c.work, time.Second, stop)
	<-stop
}

func (c *latePodGroups) work() {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.command(name); err != nil {
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

// command asks the job controller to look at the PodGroup's Job.
func (c *latePodGroups) command(name cache.ObjectName) error {
	group, err := c.podGroups.PodGroups(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || err == nil && !isLate(group) {
		return nil
	}
	if err != nil {
		return err
	}
	job := metav1.GetControllerOf(group)
	_, err = c.client.BusV1alpha1().Commands(name.Namespace).Create(context.Background(), &bus.Command{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    job.Name + "-" + strings.ToLower(string(bus.SyncJobAction)) + "-",
			OwnerReferences: []metav1.OwnerReference{*job},
		},
		TargetObject: job,
		Action:       string(bus.SyncJobAction),
	}, metav1.CreateOptions{})
	return err
}

// isLate says whether pods may be created for the PodGroup, and a Volcano Job is to create them.
func isLate(group *scheduling.PodGroup) bool {
	owner := metav1.GetControllerOf(group)
	return group.Status.Phase != "" && group.Status.Phase != scheduling.PodGroupPending &&
		owner != nil && owner.APIVersion == batch.SchemeGroupVersion.String() && owner.Kind == "Job"
}
